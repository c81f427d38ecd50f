internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

extension ResultChange {
    /// Reads what `json` writes. `ids`: the array of the snapshot's ids, where they are known; unknown ones are empty.
    /// Members that are not known are ignored, for later versions may tell more.
    init(json: UnsafeRawBufferPointer, ids: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try PayloadReader(json, what: "result")
        self.init(position: try reader.options.text("position") ?? "")
        isReset = try reader.options.boolean("reset") ?? false
        merged = try reader.count("merged") ?? 0
        if reader.text("snapshot") != nil {
            var texts: [[UInt8]] = []
            try reader.elements("snapshot") { text throws(HoldfastError) in texts.append(try Array(asking: text)) }
            snapshot = try Self.entities(texts, ids: ids, versions: reader.text("versions"))
            return
        }
        try reader.elements("removed") { text throws(HoldfastError) in
            var one = try PayloadReader(text, what: "result")
            removed.append(Removed(position: try one.position("position"), id: try one.id("id") ?? Self.unknown))
        }
        try reader.elements("inserted") { text throws(HoldfastError) in inserted.append(try Self.placed(text)) }
        try reader.elements("moved") { text throws(HoldfastError) in
            var one = try PayloadReader(text, what: "result")
            moved.append(
                Moved(from: try one.position("from"), to: try one.position("to"), id: try one.id("id") ?? Self.unknown))
        }
        try reader.elements("changed") { text throws(HoldfastError) in changed.append(try Self.placed(text)) }
    }

    private static let unknown = EntityID(unchecked: [])

    private static func placed(_ text: UnsafeRawBufferPointer) throws(HoldfastError) -> Placed {
        var one = try PayloadReader(text, what: "result")
        return Placed(
            position: try one.position("position"),
            entity: Entity(
                id: try one.id("id") ?? unknown, body: try Array(asking: one.required("entity")),
                version: CommitSequence(try one.count("version") ?? 0)))
    }

    /// Entities of which each part has an array of its own.
    static func entities(
        _ texts: [[UInt8]], ids: UnsafeRawBufferPointer?, versions: UnsafeRawBufferPointer?
    ) throws(HoldfastError) -> [Entity] {
        let ids = try ids.map { ids throws(HoldfastError) in
            try EntityID.list(ids, limits: ControllerState.limits)
        }
        var numbers: [JSONValue]?
        if let versions {
            let value = try JSONValue.parse(versions, what: "result", limits: ControllerState.limits)
            guard case .array(let elements) = value else { throw refusal("versions") }
            numbers = elements
        }
        if let ids, ids.count != texts.count { throw refusal("ids") }
        if let numbers, numbers.count != texts.count { throw refusal("versions") }
        var entities: [Entity] = []
        entities.reserveCapacity(texts.count)
        for (index, text) in texts.enumerated() {
            var version: CommitSequence = 0
            if let numbers {
                guard case .integer(let number) = numbers[index], number >= 0 else { throw refusal("versions") }
                version = CommitSequence(number)
            }
            entities.append(Entity(id: ids?[index] ?? unknown, body: text, version: version))
        }
        return entities
    }

    private static func refusal(_ name: String) -> HoldfastError {
        HoldfastError(
            .invalidOption, "\"\(name)\" must be an array with one for each entity", detail: [("option", .text(name))])
    }
}

extension PayloadReader {
    fileprivate mutating func position(_ name: String) throws(HoldfastError) -> Int {
        _ = try required(name)
        return try count(name)!
    }
}
