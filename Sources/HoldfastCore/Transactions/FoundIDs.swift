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

    /// The first that is meant.
    func first(in repository: RepositoryID, where isMeant: (EntityKey) -> Bool) -> EntityKey? {
        var start = 0
        for end in ends {
            let key = EntityKey(repository, EntityID(unchecked: Array(bytes[start..<end])))
            if isMeant(key) { return key }
            start = end
        }
        return nil
    }
}
