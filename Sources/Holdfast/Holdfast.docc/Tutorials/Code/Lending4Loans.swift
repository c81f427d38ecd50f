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
try await store.close()
