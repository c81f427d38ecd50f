/// Entities that were read, in one block: their texts as a JSON array, and where each lies in it.
public struct EntityList: Sendable {
    public struct Item: Sendable {
        /// In `ids`.
        public var id: Range<Int>
        /// In `json`.
        public var text: Range<Int>
        public var version: CommitSequence
    }

    public private(set) var json: [UInt8] = [UInt8(ascii: "[")]
    public private(set) var ids: [UInt8] = []
    public private(set) var items: [Item] = []

    public init() {}

    public var count: Int { items.count }

    mutating func append(id: UnsafeRawBufferPointer, version: CommitSequence, text: UnsafeRawBufferPointer) {
        if !items.isEmpty { json.append(UInt8(ascii: ",")) }
        let idStart = ids.count
        ids.append(contentsOf: id)
        let textStart = json.count
        json.append(contentsOf: text)
        items.append(Item(id: idStart..<ids.count, text: textStart..<json.count, version: version))
    }

    mutating func append(id: EntityID, version: CommitSequence, text: [UInt8]) {
        id.bytes.withBytes { id in text.withBytes { append(id: id, version: version, text: $0) } }
    }

    /// Closes the array. Nothing is appended afterwards.
    package mutating func finish() { json.append(UInt8(ascii: "]")) }
}
