import Holdfast

struct Record: Codable, Identifiable, Sendable {
    var id: String
    var title: String
    var year: Int
    var isLent = false
}
