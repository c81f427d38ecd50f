/// The ids that a query has found, packed, because most transactions end without anybody asking for them.
struct FoundIDs: Sendable {
    private var bytes: [UInt8] = []
    /// Where each id ends.
    private var ends: [Int] = []

    var count: Int { ends.count }

    mutating func append(_ id: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: id)
        ends.append(bytes.count)
    }

    /// To look ids up in.
    var set: Set<EntityID> {
        var set = Set<EntityID>(minimumCapacity: count)
        var start = 0
        for end in ends {
            set.insert(EntityID(unchecked: Array(bytes[start..<end])))
            start = end
        }
        return set
    }
}
