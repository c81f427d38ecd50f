internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Collects entities and gives them back in a query's order, those of equal keys in the order of their ids, or against
/// it where the first field is descending: so an index can be walked either way. With a limit it never keeps more than
/// twice as many.
struct Sorter {
    struct Item {
        let version: CommitSequence
        /// The sort key, the id and the text, one behind the other.
        let bytes: [UInt8]
        let idStart: Int
        let bodyStart: Int
    }

    private let order: SortOrder
    private let ranking: TextRanking?
    /// Without, the items have no texts.
    private let keepsBodies: Bool
    /// How many are wanted.
    private let capacity: Int
    private var items: [Item] = []
    /// About so much memory they take.
    private(set) var bytes = 0
    /// The last of the best, once there are enough: what comes behind it is not wanted.
    private var worst: Item?
    private var key = OrderedKey()

    private static let itemBytes = MemoryLayout<Item>.stride + 32

    /// `ranking` is that of the plan: where the order is by scores, it must be there.
    init(_ order: SortOrder, _ ranking: TextRanking?, keeping capacity: Int, bodies keepsBodies: Bool = true) {
        self.order = order
        self.ranking = ranking
        self.keepsBodies = keepsBodies
        self.capacity = capacity
    }

    mutating func add(_ entity: EntityView) throws(HoldfastError) {
        key.bytes.removeAll(keepingCapacity: true)
        try order.appendKey(of: entity.body, ranking, to: &key)
        if let worst, !precedes(entity.id, worst) { return }
        var bytes: [UInt8] = []
        try items.askToGrow()
        try Memory.ask(for: key.bytes.count + entity.id.count + entity.body.count)
        bytes.reserveCapacity(key.bytes.count + entity.id.count + entity.body.count)
        bytes += key.bytes
        bytes += entity.id
        if keepsBodies { bytes += entity.body }
        self.bytes += bytes.count + Self.itemBytes
        items.append(
            Item(
                version: entity.version, bytes: bytes, idStart: key.bytes.count,
                bodyStart: key.bytes.count + entity.id.count))
        if items.count >= 2 * capacity { prune() }
    }

    /// The best, in order. The host is asked meanwhile whether to go on.
    mutating func finish() throws(HoldfastError) -> [Item] {
        let isReversed = order.isReversed
        try Interrupt.sort(&items) { Self.order($0, $1, idsReversed: isReversed) < 0 }
        cut()
        return items
    }

    private mutating func prune() {
        let isReversed = order.isReversed
        items.sort { Self.order($0, $1, idsReversed: isReversed) < 0 }
        cut()
    }

    private mutating func cut() {
        if items.count > capacity {
            for item in items[capacity...] { bytes -= item.bytes.count + Self.itemBytes }
            items.removeLast(items.count - capacity)
        }
        if items.count == capacity { worst = items.last }
    }

    /// Whether an entity with the present key comes before an item.
    private func precedes(_ id: UnsafeRawBufferPointer, _ item: Item) -> Bool {
        item.bytes.withBytes { other in
            let keys = key.bytes.withBytes { compareBytes($0, Self.slice(other, 0, item.idStart)) }
            if keys != 0 { return keys < 0 }
            let ids = compareBytes(id, Self.slice(other, item.idStart, item.bodyStart))
            return order.isReversed ? ids > 0 : ids < 0
        }
    }

    private static func order(_ left: Item, _ right: Item, idsReversed: Bool) -> Int {
        left.bytes.withBytes { a in
            right.bytes.withBytes { b in
                let keys = compareBytes(slice(a, 0, left.idStart), slice(b, 0, right.idStart))
                if keys != 0 { return keys }
                let ids = compareBytes(
                    slice(a, left.idStart, left.bodyStart), slice(b, right.idStart, right.bodyStart))
                return idsReversed ? -ids : ids
            }
        }
    }

    fileprivate static func slice(
        _ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int
    ) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }
}

extension Sorter.Item {
    /// Lends the entity.
    func withView<Result>(_ body: (EntityView) throws(HoldfastError) -> Result) throws(HoldfastError) -> Result {
        try bytes.withBytes { bytes throws(HoldfastError) in
            try body(
                EntityView(
                    id: Sorter.slice(bytes, idStart, bodyStart), version: version,
                    body: Sorter.slice(bytes, bodyStart, bytes.count)))
        }
    }
}
