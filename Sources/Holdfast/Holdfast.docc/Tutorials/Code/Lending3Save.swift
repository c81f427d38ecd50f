import Holdfast

struct Record: Codable, Identifiable, Sendable {
    var id: String
    var title: String
    var year: Int
    var isLent = false
}

let store = try await Store.open("library.db")
let records = store.repository(of: Record.self)

try await records.saveMany([
    Record(id: "r1", title: "Horses", year: 1975), Record(id: "r2", title: "Medusa", year: 1995),
    Record(id: "r3", title: "Easter", year: 1978),
])
print(try await records.fetchAll().map(\.title))  // ["Horses", "Medusa", "Easter"]
print(try await records.fetch(id: "r2")?.year ?? 0)  // 1995
try await store.close()
