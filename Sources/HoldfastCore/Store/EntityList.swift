public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// Entities that were read: their texts as a JSON array, and where each lies in it.
public struct EntityList: Sendable {
    public struct Item: Sendable {
        /// In `ids`.
        public var id: Range<Int>
        /// In `json`.
        public var body: Range<Int>
        public var version: CommitSequence
    }

    public let json: TextBlock
    public private(set) var ids: [UInt8] = []
    public private(set) var items: [Item] = []

    /// `bytes`: how much text there will be, as far as that is known, and no more than about `full`.
    public init(expecting bytes: Int = 0, atMost full: Int = 0) { json = TextBlock(expecting: bytes, atMost: full) }

    public var count: Int { items.count }

    mutating func append(
        id: UnsafeRawBufferPointer, version: CommitSequence, body: UnsafeRawBufferPointer
    ) throws(HoldfastError) {
        try ids.askToGrow(by: id.count)
        try items.askToGrow()
        let idStart = ids.count
        ids.append(contentsOf: id)
        let bodyStart = json.count + 1
        try json.append(body, behind: UInt8(ascii: items.isEmpty ? "[" : ","))
        items.append(Item(id: idStart..<ids.count, body: bodyStart..<json.count, version: version))
    }

    mutating func append(id: EntityID, version: CommitSequence, body: [UInt8]) throws(HoldfastError) {
        try id.bytes.withBytes { id throws(HoldfastError) in
            try body.withBytes { body throws(HoldfastError) in try append(id: id, version: version, body: body) }
        }
    }

    /// Closes the array. Nothing is appended afterwards.
    package func finish() throws(HoldfastError) {
        if items.isEmpty { try json.append(UInt8(ascii: "[")) }
        try json.append(UInt8(ascii: "]"))
    }

    // MARK: Reading

    public func id(of item: Item) -> EntityID { EntityID(unchecked: Array(ids[item.id])) }

    public func body(of item: Item) throws(HoldfastError) -> [UInt8] {
        try json.withBytes { json throws(HoldfastError) in
            try Array(asking: UnsafeRawBufferPointer(rebasing: json[item.body]))
        }
    }

    /// Lends one of them.
    func withView(of item: Item, _ body: (EntityView) throws(HoldfastError) -> Void) throws(HoldfastError) {
        try json.withBytes { json throws(HoldfastError) in
            try ids.withBytes { ids throws(HoldfastError) in
                try body(
                    EntityView(
                        id: UnsafeRawBufferPointer(rebasing: ids[item.id]), version: item.version,
                        body: UnsafeRawBufferPointer(rebasing: json[item.body])))
            }
        }
    }
}
