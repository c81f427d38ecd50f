internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The order of many keys, found without moving them: what is sorted is plain numbers, which nobody has to retain.
/// Equal keys keep the order in which they came.
struct KeyOrder {
    /// A key's beginning, read as numbers that compare as its bytes do, and where the key is.
    private struct Item {
        var repository: RepositoryID
        var first: UInt64
        var second: UInt64
        var index: Int

        func beginsLike(_ other: Item) -> Bool {
            repository == other.repository && first == other.first && second == other.second
        }
    }

    /// The indexes in the order of their keys.
    let indexes: [Int]
    /// Whether a key comes more than once.
    private(set) var hasDuplicates = false

    /// `key` answers the key at each index below `count`.
    init(count: Int, _ key: (Int) -> EntityKey) {
        var items: [Item] = []
        items.reserveCapacity(count)
        for index in 0..<count {
            let key = key(index)
            let (first, second) = Self.numbers(key.id)
            items.append(Item(repository: key.repository, first: first, second: second, index: index))
        }
        items.sort { left, right in
            if left.repository != right.repository { return left.repository < right.repository }
            if left.first != right.first { return left.first < right.first }
            if left.second != right.second { return left.second < right.second }
            return left.index < right.index
        }
        // Keys that begin alike are few, as a rule: only they are compared as a whole.
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, items[end].beginsLike(items[start]) { end += 1 }
            if end - start > 1 {
                items[start..<end].sort { left, right in
                    let order = key(left.index).id.compare(key(right.index).id)
                    return order == 0 ? left.index < right.index : order < 0
                }
                hasDuplicates =
                    hasDuplicates
                    || (start + 1..<end).contains { key(items[$0 - 1].index).id == key(items[$0].index).id }
            }
            start = end
        }
        indexes = items.map(\.index)
    }

    /// An id's first 16 bytes. A shorter one is filled up with zeros; ids that this makes alike are told apart as a
    /// whole.
    private static func numbers(_ id: EntityID) -> (UInt64, UInt64) {
        id.bytes.withBytes { bytes in
            var numbers: (UInt64, UInt64) = (0, 0)
            withUnsafeMutableBytes(of: &numbers) {
                $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(16)))
            }
            return (UInt64(bigEndian: numbers.0), UInt64(bigEndian: numbers.1))
        }
    }
}
