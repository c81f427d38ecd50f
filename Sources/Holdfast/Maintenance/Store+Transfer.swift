public import Foundation
internal import HoldfastCore
internal import HoldfastEngines
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastServices

/// What becomes of an entity whose id is taken, in an import.
public enum ExistingEntities: String, Sendable, Hashable, CaseIterable {
    /// The import ends with `.exists`.
    case refuse
    /// It replaces the other.
    case replace
    /// It is left out.
    case skip
}

/// What an export has written.
public struct ExportReport: Sendable, Hashable, Decodable {
    /// Of the state that it has.
    public var sequence: UInt64
    /// How many entities were written.
    public var entities: Int
    /// How many were left out because they are damaged where they are stored.
    public var skipped: Int
}

/// Where an export was cut short: behind its last whole line.
public struct ExportPosition: Sendable, Hashable {
    /// `sequence` of the export's first line.
    public var sequence: UInt64
    /// `repository` of its last whole line,
    public var repository: String
    /// and `id` of that.
    public var id: String
    /// `incarnation` of the first line, by which another store's export is told.
    public var incarnation: String?
    /// The names of the first line's `repositories`, by which an export of others is told.
    public var repositories: [String]?

    /// A place in an export.
    public init(
        sequence: UInt64, repository: String, id: String, incarnation: String? = nil, repositories: [String]? = nil
    ) {
        self.sequence = sequence
        self.repository = repository
        self.id = id
        self.incarnation = incarnation
        self.repositories = repositories
    }
}

/// What an import has stored.
public struct ImportReport: Sendable, Hashable, Decodable {
    /// How many entities there were.
    public var entities: Int
    /// How many of them were stored, by this run or an earlier one.
    public var stored: Int
    /// How many were left out because their id was taken.
    public var skipped: Int
}

/// Entities that go out as text and come in from it, or from the table of another database. The text is JSON Lines, as the
/// header `transfer.h` describes it.
extension Store {
    /// Exports the store, all of it as of one commit, while others go on writing.
    ///
    ///     try await store.exportLines { try file.write(contentsOf: $0) }
    ///
    /// Throws `.notFound` (no such repository), `.conflict` (the export that is gone on with is of another state, another
    /// store or other repositories: export anew), `.corrupt`, `.io`, `.closed`, and what `write` throws.
    /// - Parameters:
    ///   - repositories: Which of them; nil: all.
    ///   - skippingDamaged: Leaves out what is damaged where it is stored, which otherwise ends the export with `.corrupt`.
    ///   - position: Goes on with an export of the same repositories that was cut short; its first line is not repeated.
    ///   - progress: In entities, without a total.
    ///   - write: Takes whole lines, one piece after the other, on a thread of the library.
    @discardableResult
    public func exportLines(
        _ repositories: [String]? = nil, skippingDamaged: Bool = false, after position: ExportPosition? = nil,
        progress: WorkProgress? = nil, to write: @escaping @Sendable (Data) throws -> Void
    ) async throws -> ExportReport {
        try await working(progress) { [core] work throws(CoreError) in
            var options = ExportOptions()
            options.repositories = repositories
            options.skipsDamaged = skippingDamaged
            options.after = try position.map { position throws(CoreError) in
                ExportOptions.Position(
                    sequence: position.sequence, repository: position.repository,
                    id: try Array(position.id.utf8).withBytes { id throws(CoreError) in try EntityID(checking: id) },
                    incarnation: position.incarnation, repositories: position.repositories)
            }
            return try core.export(options) { lines throws(CoreError) in
                try work.calling("takes an export's lines") { try write(Data(lines)) }
            } progress: {
                work.tell($0, $1)
            }
        }
    }

    /// Imports an export, or lines that are entities themselves, in commits of at most 1,000 entities or 4 MiB. Commits
    /// before a failure stay.
    ///
    ///     try await store.importLines { try file.read(upToCount: 65_536) }
    ///
    /// Of an export, repositories and indexes are created, and entities keep their versions where the store has none yet.
    /// Throws, with the detail's `line`, `.invalidJSON` (also of an export that was cut short), `.formatTooNew` (of one that a
    /// newer library has written), `.invalidEntity`, `.invalidID`,
    /// `.exists`, `.uniqueViolation`, `.keyReused`, what commits throw, and what `read` throws.
    /// - Parameters:
    ///   - repository: Where lines go that name none.
    ///   - existing: What becomes of an entity whose id is taken.
    ///   - resume: A name of 1 to 200 bytes. Run again with the same name and lines, the import stores only what an earlier
    ///     run did not.
    ///   - createsIndexes: Whether the export's indexes are created.
    ///   - progress: In entities, without a total.
    ///   - read: Gives the next bytes, nil or none at the end, on a thread of the library.
    @discardableResult
    public func importLines(
        into repository: String? = nil, existing: ExistingEntities = .refuse, resume: String? = nil,
        createsIndexes: Bool = true, progress: WorkProgress? = nil, from read: @escaping @Sendable () throws -> Data?
    ) async throws -> ImportReport {
        var options = try Self.importOptions(existing, resume)
        options.repository = repository
        options.createsIndexes = createsIndexes
        return try await working(progress) { [core, options] work throws(CoreError) in
            var left: Data? = Data()
            return try core.importLines(options) { buffer throws(CoreError) in
                // Filled, however small the pieces are: each buffer costs something.
                var filled = 0
                while filled < buffer.count, let piece = left {
                    if piece.isEmpty {
                        let next = try work.calling("gives an import's lines") { try read() }
                        left = next?.isEmpty == true ? nil : next
                    } else {
                        let count = piece.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
                        left = piece.dropFirst(count)
                        filled += count
                    }
                }
                return filled
            } progress: {
                work.tell($0, $1)
            }
        }
    }

    /// Imports the rows of a table, or of a view, of any SQLite file, which is only read. Each becomes an entity with the
    /// columns as members; what is no text in UTF-8 becomes text in base64.
    ///
    /// Throws `.notFound` (no such table or column), `.cannotOpen`, `.notAStore` (no SQLite file), and what `importLines` does.
    /// - Parameters:
    ///   - table: The name of the table or view.
    ///   - path: The path of the file.
    ///   - repository: Where they go; nil: to the repository of the table's name.
    ///   - id: The column whose value becomes the id; nil: the one called as the repository's key, else the primary key if it
    ///     is one column, else the row's number, else an id is assigned.
    ///   - json: Columns whose text is JSON.
    ///   - existing: As of `importLines`.
    ///   - resume: As of `importLines`.
    ///   - progress: In entities, without a total.
    @discardableResult
    public func importTable(
        _ table: String, of path: String, into repository: String? = nil, id: String? = nil, json: [String] = [],
        existing: ExistingEntities = .refuse, resume: String? = nil, progress: WorkProgress? = nil
    ) async throws -> ImportReport {
        var options = TableImportOptions()
        options.repository = repository
        options.id = id
        options.json = json
        options.general = try Self.importOptions(existing, resume)
        return try await working(progress) { [core, options] work throws(CoreError) in
            try core.importTable(table, of: path, options, work.tell)
        }
    }

    /// Checked by the core's own reader, so that every face refuses the same.
    private static func importOptions(_ existing: ExistingEntities, _ resume: String?) throws -> ImportOptions {
        var named = ["existing": existing.rawValue]
        named["resume"] = resume
        let json = Array(try JSONEncoder().encode(named))
        return try translatingErrors { () throws(CoreError) in
            try json.withBytes { json throws(CoreError) in try ImportOptions(json: json) }
        }
    }
}
