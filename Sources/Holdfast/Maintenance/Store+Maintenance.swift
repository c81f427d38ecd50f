internal import Foundation
internal import HoldfastCore
internal import HoldfastEngines
internal import HoldfastServices

/// What a backup has copied.
public struct BackupReport: Sendable, Hashable, Decodable {
    /// Where it is.
    public var path: String
    /// Of the newest commit in it.
    public var sequence: UInt64
    /// How large it is.
    public var bytes: Int
}

/// What compacting has gained.
public struct CompactReport: Sendable, Hashable, Decodable {
    /// The file's size before,
    public var bytesBefore: Int
    /// and after.
    public var bytesAfter: Int

    private enum CodingKeys: String, CodingKey {
        case bytesBefore = "bytes_before"
        case bytesAfter = "bytes_after"
    }
}

/// What checking a whole store showed.
public struct StoreVerification: Sendable, Hashable, Decodable {
    /// Whether nothing is wrong.
    public var isOK: Bool
    /// What the engine finds wrong in its file, a sentence each.
    public var problems: [String]
    /// By name.
    public var repositories: [RepositoryVerification]

    private enum CodingKeys: String, CodingKey {
        case problems, repositories
        case isOK = "ok"
    }
}

/// Maintenance of a store while it is in use. A task that is cancelled meanwhile gives the work up (`CancellationError`), and
/// nothing of it is left.
extension Store {
    /// Copies the newest committed state into a new file, while others go on reading and writing. The file is a store of its
    /// own, and appears under its name when it is complete and synced. Beside commits it rests up to three times as long as it
    /// works, so that they keep most of their speed.
    ///
    /// Throws `.exists`, `.unsupported` (a store without a file: export it), `.cannotOpen`, `.full`, `.io`, `.corrupt`.
    /// - Parameters:
    ///   - path: Of the new file, which must not exist.
    ///   - progress: In bytes.
    @discardableResult
    public func backup(to path: String, progress: WorkProgress? = nil) async throws -> BackupReport {
        try await working(progress) { [core] work throws(CoreError) in try core.backUp(to: path, work.tell) }
    }

    /// Makes a store from a backup, or from the file of any store that nobody changes meanwhile. It appears when it is
    /// complete and found sound.
    ///
    /// Throws `.exists`, `.busy` (a process has the store open), `.notAStore`, `.formatTooNew`, `.corrupt` (the backup is
    /// damaged), `.unsupported` (a URL without a file), `.cannotOpen`, `.unsafeLocation`, `.full`, `.io`.
    /// - Parameters:
    ///   - backup: The path of the file.
    ///   - url: As for `open`, of an SQLite file.
    ///   - replacing: Whether a store that is there is replaced. It stays as it is until the copy is complete.
    ///   - options: `lockTimeout` and `allowUnsafeLocation` count.
    ///   - progress: In bytes.
    public static func restore(
        _ backup: String, to url: String, replacing: Bool = false, _ options: StoreOptions = .init(),
        progress: WorkProgress? = nil
    ) async throws {
        let known = try options.checked()
        var restoring = RestoreOptions()
        restoring.replaces = replacing
        restoring.lockTimeoutMilliseconds = known.lockTimeoutMilliseconds
        restoring.allowUnsafeLocation = known.allowUnsafeLocation
        try await LongWork.run(on: .hosts, progress) { [restoring] work throws(CoreError) in
            try StoreURL.restore(from: backup, to: url, restoring, work.tell)
        }
    }

    /// Checks all that is stored: the file by the engine's own rules, every entity, and every index against the entities.
    /// What is wrong is an answer, not an error.
    /// - Parameter progress: In entities, without a total.
    public func verify(progress: WorkProgress? = nil) async throws -> StoreVerification {
        try await working(progress) { [core] work throws(CoreError) in try core.verify(work.tell) }
    }

    /// Gives space that nothing is stored in back to the file system. Commits wait meanwhile, reads go on.
    ///
    /// Throws `.busy` (another process has the store open), `.unsupported` (a store without a file), `.readOnly`, `.full`,
    /// `.io`: the store is as before then.
    @discardableResult
    public func compact() async throws -> CompactReport {
        try await working(nil) { [core] _ throws(CoreError) in try core.compact() }
    }

    /// Does long work that answers a report.
    func working<Report: Decodable>(
        _ progress: WorkProgress?, _ body: @escaping @Sendable (LongWork) throws(CoreError) -> [UInt8]
    ) async throws -> Report {
        try requireOutsideProvider()
        let report = try await LongWork.run(on: .hosts, progress, body)
        return try JSONDecoder().decode(Report.self, from: Data(report))
    }
}
