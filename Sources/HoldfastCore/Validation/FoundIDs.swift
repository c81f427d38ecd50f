internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The ids that a query has found, packed: they may be many, and most transactions end without anybody asking for them.
struct FoundIDs: Sendable {
    private var bytes: [UInt8] = []
    /// Where each id ends.
    private var ends: [Int] = []

    var count: Int { ends.count }

    mutating func append(_ id: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: id)
        ends.append(bytes.count)
    }

    /// The same for any number of them.
    mutating func append(asking id: UnsafeRawBufferPointer) throws(HoldfastError) {
        try bytes.askToGrow(by: id.count)
        try ends.askToGrow()
        append(id)
    }

    subscript(index: Int) -> EntityID {
        EntityID(unchecked: Array(bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]]))
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
