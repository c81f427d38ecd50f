import Foundation
import GRDB

extension Document: FetchableRecord, PersistableRecord {}

/// A column a member, a pool with the settings of sqlite.c, and statements kept prepared.
struct GRDBEngine: Engine {
    let pool: DatabasePool
    let blocks: Bool

    static func open(_ directory: URL, maxInFlight: Int, blocks: Bool) async throws -> GRDBEngine {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(
                sql: "PRAGMA wal_autocheckpoint = 16000; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY")
        }
        let pool = try DatabasePool(path: directory.appending(path: "grdb.db").path, configuration: configuration)
        // The pool itself sets NORMAL, with which a commit that was acknowledged may be lost.
        try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        try await pool.write { database in
            try database.create(table: "document") { table in
                table.primaryKey("id", .text)
                for name in ["version", "section", "priority", "maintainer", "description"] {
                    table.column(name, .text)
                }
                table.column("installed_size", .integer).notNull()
                table.column("size", .integer).notNull()
                table.column("depends", .jsonText)
            }
        }
        return GRDBEngine(pool: pool, blocks: blocks)
    }

    func close() async throws { try pool.close() }

    func add(_ document: Document) async throws {
        if blocks { try addNow(document) } else { try await pool.write { try document.insert($0) } }
    }

    func addMany(_ documents: [Document]) async throws {
        try await pool.write { database in
            for document in documents { try document.insert(database) }
        }
    }

    func fetch(id: String) async throws -> Document? {
        if blocks { return try fetchNow(id) }
        return try await pool.read { try Self.request(id).fetchOne($0) }
    }

    func indexSizes() async throws {
        try await pool.write { try $0.create(index: "sizes", on: "document", columns: ["installed_size"]) }
    }

    func find(sizes: Range<Int>) async throws -> [Document] {
        try await pool.read { database in
            try SQLRequest<Document>(
                sql: "SELECT * FROM document WHERE installed_size >= ? AND installed_size < ?",
                arguments: [sizes.lowerBound, sizes.upperBound], cached: true
            ).fetchAll(database)
        }
    }

    // An asynchronous function cannot make the blocking calls itself: the names are those of the asynchronous ones.

    private func addNow(_ document: Document) throws { try pool.write { try document.insert($0) } }

    private func fetchNow(_ id: String) throws -> Document? { try pool.read { try Self.request(id).fetchOne($0) } }

    private static func request(_ id: String) -> SQLRequest<Document> {
        SQLRequest(sql: "SELECT * FROM document WHERE id = ?", arguments: [id], cached: true)
    }
}
