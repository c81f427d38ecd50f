import Holdfast

struct Record: Codable, Identifiable, Sendable {
    var id: String
    var title: String
    var year: Int
    var isLent = false
}

let store = try await Store.open("library.db")
let records = store.repository(of: Record.self)
try await store.close()
