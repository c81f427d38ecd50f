/// A dictionary that drops entries when there are too many, or their sizes exceed a limit: the one used longest ago
/// (LRU), or the one inserted first (FIFO). A hash table whose values stand in a doubly linked list, both in arrays, so
/// that using an entry allocates nothing.
///
/// LRU: reading and setting both count as use. FIFO: overwriting keeps the place.
struct CacheList<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    struct Slot: Sendable {
        var key: Key
        var value: Value
        var size: Int
    }

    struct Link: Sendable {
        var newer: Int32
        var older: Int32
    }

    static var none: Int32 { -1 }

    let strategy: CachePolicy.Strategy
    let maxCount: Int
    let maxSize: Int
    private(set) var size = 0
    private(set) var index: [Key: Int32] = [:]
    private(set) var slots: [Slot?] = []
    /// Beside the slots, so that changing the order copies none of them.
    private(set) var links: [Link] = []
    private(set) var free: [Int32] = []
    private(set) var newest: Int32 = -1
    private(set) var oldest: Int32 = -1

    init(_ strategy: CachePolicy.Strategy, maxCount: Int = .max, maxSize: Int = .max) {
        self.strategy = strategy
        self.maxCount = maxCount
        self.maxSize = maxSize
    }

    var count: Int { index.count }

    /// Whether nothing will ever be in it.
    var holdsNothing: Bool { maxCount == 0 || maxSize == 0 }

    func contains(_ key: Key) -> Bool { !index.isEmpty && index[key] != nil }

    /// The value, which counts as used.
    mutating func use(_ key: Key) -> Value? {
        if index.isEmpty { return nil }
        guard let position = index[key] else { return nil }
        touch(position)
        return slots[Int(position)]!.value
    }

    /// Inserts or overwrites, but for what is larger than all that is allowed: it is not taken, and what was there is
    /// dropped. What has to go is shown to `evicted`, with its size. Answers whether the value was taken.
    @discardableResult
    mutating func set(
        _ key: Key, _ value: Value, size newSize: Int, evicted: (Key, Int) -> Void = { _, _ in }
    ) -> Bool {
        if newSize > maxSize || maxCount == 0 {
            if let dropped = remove(key) { evicted(key, dropped) }
            return false
        }
        if let position = index[key] {
            size += newSize - slots[Int(position)]!.size
            slots[Int(position)]!.value = value
            slots[Int(position)]!.size = newSize
            touch(position)
        } else {
            let slot = Slot(key: key, value: value, size: newSize)
            let position: Int32
            if let reused = free.popLast() {
                position = reused
                slots[Int(position)] = slot
            } else {
                position = Int32(slots.count)
                slots.append(slot)
                links.append(Link(newer: Self.none, older: Self.none))
            }
            index[key] = position
            size += newSize
            linkAsNewest(position)
        }
        while size > maxSize || count > maxCount {
            let key = slots[Int(oldest)]!.key
            evicted(key, remove(key)!)
        }
        return true
    }

    /// Answers the size of what is gone.
    @discardableResult
    mutating func remove(_ key: Key) -> Int? {
        guard !index.isEmpty, let position = index.removeValue(forKey: key) else { return nil }
        unlink(position)
        let removed = slots[Int(position)]!.size
        size -= removed
        slots[Int(position)] = nil
        free.append(position)
        return removed
    }

    /// Drops the first in the order of eviction, so many of those that are meant. Answers how many were dropped.
    @discardableResult
    mutating func drop(_ limit: Int, where isMeant: (Key) -> Bool = { _ in true }) -> Int {
        var position = oldest
        var dropped = 0
        while position != Self.none, dropped < limit {
            let slot = slots[Int(position)]!
            position = links[Int(position)].newer
            guard isMeant(slot.key) else { continue }
            remove(slot.key)
            dropped += 1
        }
        return dropped
    }

    mutating func removeAll() {
        if index.isEmpty { return }
        self = CacheList(strategy, maxCount: maxCount, maxSize: maxSize)
    }

    private mutating func touch(_ position: Int32) {
        guard strategy == .lru, position != newest else { return }
        unlink(position)
        linkAsNewest(position)
    }

    private mutating func unlink(_ position: Int32) {
        let link = links[Int(position)]
        if link.newer == Self.none { newest = link.older } else { links[Int(link.newer)].older = link.older }
        if link.older == Self.none { oldest = link.newer } else { links[Int(link.older)].newer = link.newer }
    }

    private mutating func linkAsNewest(_ position: Int32) {
        links[Int(position)] = Link(newer: Self.none, older: newest)
        if newest != Self.none { links[Int(newest)].newer = position }
        newest = position
        if oldest == Self.none { oldest = position }
    }
}
