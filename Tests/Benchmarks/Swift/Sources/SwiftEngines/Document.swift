import Foundation

/// A document of the benchmark, as both engines are given it.
struct Document: Codable, Identifiable, Equatable, Sendable {
    var id: String
    var version: String?
    var section: String?
    var priority: String?
    var maintainer: String?
    var description: String?
    var installedSize: Int
    var size: Int
    var depends: [String]?

    enum CodingKeys: String, CodingKey {
        case id, version, section, priority, maintainer, description, size, depends
        case installedSize = "installed_size"
    }
}

extension Document {
    /// The documents of a file that holds one a line, in random order, the same one in every run.
    static func load(_ path: String) throws -> [Document] {
        let decoder = JSONDecoder()
        var random = RandomNumbers()
        return try Data(contentsOf: URL(filePath: path)).split(separator: UInt8(ascii: "\n"))
            .map { try decoder.decode(Document.self, from: $0) }
            .shuffled(using: &random)
    }
}

private struct RandomNumbers: RandomNumberGenerator {
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
