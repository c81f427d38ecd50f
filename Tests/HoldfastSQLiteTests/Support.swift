import CSQLite
import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastSQLite
import HoldfastStorage
import StorageConformance

/// A directory of its own for each test, removed with its files.
final class Directory {
    let path: String

    init() {
        // A place in memory makes syncs cheap, where they are many: see drawn_limits.mk.
        let place = getenv("HOLDFAST_TEST_PLACE").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(place)/holdfast-sqlite-XXXXXX\0".utf8CString)
        mkdtemp(&template)
        path = String(decoding: template.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    var store: String { "\(path)/store.db" }

    var names: [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func write(_ bytes: [UInt8], to name: String) {
        let file = fopen("\(path)/\(name)", "w")
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    func copy(_ name: String, to copy: String) { system("cp '\(path)/\(name)' '\(path)/\(copy)'") }

    func open(
        _ name: String = "store.db", _ change: (inout SQLiteOptions) -> Void = { _ in },
        limits changeLimits: (inout Limits) -> Void = { _ in }
    ) throws(HoldfastError) -> SQLiteStorage {
        var options = SQLiteOptions()
        change(&options)
        var environment = Environment.system
        changeLimits(&environment.limits)
        return try SQLiteStorage.open(path: "\(path)/\(name)", options: options, environment: environment)
    }
}

func status(of path: String) -> stat? {
    var found = stat()
    return stat(path, &found) == 0 ? found : nil
}

/// Waits until something is so, and answers whether it is: longer than any machine is busy.
func comesTrue(_ isSo: () -> Bool) -> Bool {
    for _ in 0..<60_000 {
        if isSo() { return true }
        usleep(10_000)
    }
    return false
}

func size(of path: String) -> Int { status(of: path).map { Int($0.st_size) } ?? 0 }

/// The error that a call ends with.
func error(of call: () throws(HoldfastError) -> Void) -> HoldfastError? {
    do throws(HoldfastError) {
        try call()
        return nil
    } catch {
        return error
    }
}

/// Runs plain SQL as any other program would and answers the rows, each with its columns joined by "|".
@discardableResult
func plainSQL(_ path: String, _ sql: String) -> (rows: [String], code: Int32) {
    var connection: OpaquePointer?
    sqlite3_open(path, &connection)
    defer { sqlite3_close(connection) }
    var rows: [String] = []
    var code = SQLITE_OK
    var rest: UnsafePointer<CChar>?
    sql.withCString { start in
        rest = start
        while code == SQLITE_OK, let text = rest, text.pointee != 0 {
            var statement: OpaquePointer?
            code = sqlite3_prepare_v2(connection, text, -1, &statement, &rest)
            guard code == SQLITE_OK, statement != nil else { return }
            code = sqlite3_step(statement)
            while code == SQLITE_ROW {
                let columns = (0..<sqlite3_column_count(statement)).map { column in
                    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
                }
                rows.append(columns.joined(separator: "|"))
                code = sqlite3_step(statement)
            }
            if code == SQLITE_DONE { code = SQLITE_OK }
            sqlite3_finalize(statement)
        }
    }
    return (rows, code)
}

let songs: RepositoryID = 1

extension EntityKey {
    init(_ id: String) { self.init(songs, EntityID(unchecked: Array(id.utf8))) }
}

extension Storage {
    /// Stores texts between braces (nil: deletes) as one commit.
    func store(_ bodies: [String: String?], at sequence: CommitSequence, durable: Bool = true) throws(HoldfastError) {
        var batch = WriteBatch()
        if sequence == 1 {
            batch.repositories = [RepositoryRecord(id: songs, name: "songs", key: "id")]
            batch.reservedThrough = 1_000
        }
        batch.changes = bodies.map { id, body in
            EntityChange(key: EntityKey(id), version: sequence, body: body.map { Array("{\($0)}".utf8) })
        }.sorted { $0.key < $1.key }
        batch.commitLog = [
            CommitLogEntry(
                sequence: sequence, commitIdentifier: sequence &* 0x9E37_79B9, time: 1_750_000_000_000,
                changes: batch.changes.map { CommitLogEntry.Change(key: $0.key, isDeletion: $0.body == nil) })
        ]
        try store(batch, durable: durable)
    }

    /// What stands between the braces of an entity.
    func text(_ id: String) throws(HoldfastError) -> String? {
        let snapshot = try beginSnapshot()
        defer { snapshot.close() }
        var text: String?
        _ = try snapshot.fetch(EntityKey(id)) { text = String(decoding: $0.body.dropFirst().dropLast(), as: UTF8.self) }
        return text
    }
}
