import HoldfastEnvironment
import HoldfastPostgreSQL
import HoldfastQuery
import HoldfastStorage
import StorageConformance

/// A PostgreSQL server of the tests' own, and with it its folder; see cluster.sh.
final class Cluster: Sendable {
    let folder: String
    let url: String

    init() {
        var template = Array("/tmp/holdfast-postgresql-XXXXXX\0".utf8CString)
        mkdtemp(&template)
        folder = String(decoding: template.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        url = Self.run("start", "\(folder) \(getpid())")
    }

    deinit { stop() }

    func start() { _ = Self.run("start", folder) }
    func crash() { _ = Self.run("crash", folder) }
    func stop() { _ = Self.run("stop", folder) }
    /// The URL of a pgbouncer in front of it, which gives out sessions by transaction.
    func pool() -> String { Self.run("pool", folder) }
    /// It says nothing until it is resumed, and then goes on with what it did.
    func pause() { _ = Self.run("pause", folder) }
    func resume() { _ = Self.run("resume", folder) }

    /// The URL of another database of the server, made anew.
    func database(_ name: String, _ settings: String = "") -> String {
        sql("CREATE DATABASE \(name) \(settings)")
        return url.replacing("5432/postgres", with: "5432/\(name)")
    }

    /// Runs plain SQL as any other program would, and answers what psql prints of the rows.
    @discardableResult
    func sql(_ text: String, at url: String? = nil) -> String {
        Self.output("psql --no-psqlrc --quiet --tuples-only --no-align '\(url ?? self.url)' --command \"\(text)\"")
    }

    private static let script = #filePath.replacing("Cluster.swift", with: "cluster.sh")

    private static func run(_ verb: String, _ operands: String) -> String { output("\(script) \(verb) \(operands)") }

    private static func output(_ command: String) -> String {
        guard let pipe = popen(command, "r") else { return "" }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = fread(&part, 1, part.count, pipe)
            if count == 0 { break }
            bytes += part[..<count]
        }
        let status = pclose(pipe)
        precondition(status == 0, "\(command) ended with \(status)")
        return String(decoding: bytes, as: UTF8.self).trimming("\n")
    }
}

extension String {
    fileprivate func trimming(_ end: Character) -> String {
        var text = self
        while text.last == end { text.removeLast() }
        return text
    }

    func replacing(_ part: String, with other: String) -> String {
        split(separator: part, omittingEmptySubsequences: false).joined(separator: other)
    }
}

func open(
    _ url: String, _ change: (inout PostgreSQLOptions) -> Void = { _ in },
    limits changeLimits: (inout Limits) -> Void = { _ in }
) throws(HoldfastError) -> PostgreSQLStorage {
    var options = PostgreSQLOptions()
    change(&options)
    var environment = Environment.system
    changeLimits(&environment.limits)
    return try PostgreSQLStorage.open(try ServerURL(url), options, environment: environment)
}

/// The error that a call ends with.
func error(of call: () throws(HoldfastError) -> Void) -> HoldfastError? {
    do throws(HoldfastError) {
        try call()
        return nil
    } catch {
        return error
    }
}

let songs: RepositoryID = 1

extension EntityKey {
    init(_ id: String) { self.init(songs, EntityID(unchecked: Array(id.utf8))) }
}

/// Texts between braces, as one commit. `salt` makes it another one than that with the same sequence.
func batch(_ bodies: [String: String], at sequence: CommitSequence, salt: UInt64 = 0) -> WriteBatch {
    var batch = WriteBatch()
    if sequence == 1 {
        batch.repositories = [RepositoryRecord(id: songs, name: "songs", key: "id")]
        batch.reservedThrough = 1_000
    }
    batch.changes = bodies.map { id, body in
        EntityChange(key: EntityKey(id), version: sequence, body: Array("{\(body)}".utf8))
    }.sorted { $0.key < $1.key }
    batch.commitLog = [
        CommitLogEntry(
            sequence: sequence, commitIdentifier: (sequence + salt) &* 0x9E37_79B9, time: 1_750_000_000_000,
            changes: batch.changes.map { CommitLogEntry.Change(key: $0.key, isDeletion: $0.body == nil) })
    ]
    return batch
}

extension Storage {
    func store(
        _ bodies: [String: String], at sequence: CommitSequence, salt: UInt64 = 0, durable: Bool = true
    ) throws(HoldfastError) {
        try store(batch(bodies, at: sequence, salt: salt), durable: durable)
    }

    /// As a plain read.
    func newest(_ id: String) throws(HoldfastError) -> String? {
        var text: String?
        try fetchNewest(EntityKey(id), since: nil) { read in
            text = read.entity.map { String(decoding: $0.body, as: UTF8.self) }
        }
        return text
    }

    func text(_ id: String) throws(HoldfastError) -> String? {
        let snapshot = try beginSnapshot()
        defer { snapshot.close() }
        var text: String?
        _ = try snapshot.fetch(EntityKey(id)) { text = String(decoding: $0.body, as: UTF8.self) }
        return text
    }
}
