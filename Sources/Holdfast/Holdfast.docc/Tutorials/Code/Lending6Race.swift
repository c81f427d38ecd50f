import Holdfast

struct Record: Codable, Identifiable, Sendable {
    var id: String
    var title: String
    var year: Int
    var isLent = false
}

struct Loan: Codable, Identifiable, Sendable {
    var id: String?  // assigned by the store
    var record: String
    var reader: String
}

let store = try await Store.open("library.db")
let records = store.repository(of: Record.self)
let loans = store.repository(of: Loan.self)

try await records.saveMany([
    Record(id: "r1", title: "Horses", year: 1975), Record(id: "r2", title: "Medusa", year: 1995),
    Record(id: "r3", title: "Easter", year: 1978),
])

struct AlreadyLent: Error {}

func lend(_ id: String, to reader: String) async throws {
    try await store.transaction {
        guard var record = try await records.fetch(id: id), !record.isLent else { throw AlreadyLent() }
        record.isLent = true
        try await records.update(record)
        try await loans.add(Loan(record: id, reader: reader))
    }
}

await withTaskGroup(of: Void.self) { group in
    for reader in ["Ada", "Grace", "Edsger"] {
        group.addTask { try? await lend("r1", to: reader) }
    }
}
print(try await loans.count())  // 1
try await store.close()
