public import HoldfastEnvironment
public import HoldfastQuery

/// Of what a stream tells; `stream.h` describes each.
public struct StreamOptions: Sendable {
    public var repository: String?
    public var id: EntityID?
    /// As JSON.
    public var filter: [UInt8]?
    /// Dotted paths.
    public var fields: [String] = []
    public var includesOld = false
    public var includesEntities = true
    public var since: String?
    public var durableName: String?
    /// How many commits a feed answers at most.
    public var limit = 1000

    public init() {}

    /// What a call takes besides what all take.
    public enum Accepted: Sendable { case stream, feed }

    public init(json: UnsafeRawBufferPointer?, for accepted: Accepted) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "stream options")
        repository = try reader.text("repository")
        switch reader.value("id") {
        case nil: break
        case .string(let bytes)?:
            id = try bytes.withBytes { bytes throws(HoldfastError) in try EntityID(checking: bytes) }
        case .integer(let number)?: id = EntityID(unchecked: Array(String(number).utf8))
        case _?: throw Self.refusal("id", "must be a string or an integer")
        }
        if let value = reader.value("filter") {
            var writer = JSONWriter()
            writer.value(value)
            filter = writer.bytes
        }
        if let value = try reader.boolean("entities") { includesEntities = value }
        switch accepted {
        case .stream:
            try readFields(reader.value("fields"))
            if let value = try reader.boolean("old") { includesOld = value }
            since = try reader.text("since")
            durableName = try reader.text("durable")
        case .feed:
            if let value = try reader.integer("limit", in: 1...100_000) { limit = Int(value) }
        }
        try reader.finish()
    }

    private mutating func readFields(_ value: JSONValue?) throws(HoldfastError) {
        guard let value else { return }
        guard case .array(let elements) = value, !elements.isEmpty else {
            throw Self.refusal("fields", "must be an array of paths")
        }
        for element in elements {
            guard case .string(let path) = element else { throw Self.refusal("fields", "must be an array of paths") }
            fields.append(String(decoding: path, as: UTF8.self))
        }
    }

    static func refusal(_ option: String, _ reason: String) -> HoldfastError {
        HoldfastError(
            .invalidOption, "\"\(option)\" in the stream options \(reason)", detail: [("option", .text(option))])
    }
}
