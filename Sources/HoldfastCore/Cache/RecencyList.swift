/// A dictionary that drops what was used longest ago when its entries' sizes exceed a limit (LRU): a hash table whose
/// values stand in a doubly linked list, both in arrays, so that using an entry allocates nothing.
struct RecencyList<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Slot: Sendable {
        var key: Key
        var value: Value
        var size: Int
        var newer: Int32
        var older: Int32
    }

    private static var none: Int32 { -1 }

    let limit: Int
    private(set) var size = 0
    private var index: [Key: Int32] = [:]
    private var slots: [Slot?] = []
    private var free: [Int32] = []
    private var newest: Int32 = -1
    private var oldest: Int32 = -1

    init(limit: Int) { self.limit = limit }

    var count: Int { index.count }

    func contains(_ key: Key) -> Bool { !index.isEmpty && index[key] != nil }

    /// The value, which is now the one used last.
    mutating func use(_ key: Key) -> Value? {
        if index.isEmpty { return nil }
        guard let position = index[key] else { return nil }
        if position != newest {
            unlink(position)
            linkAsNewest(position)
        }
        return slots[Int(position)]!.value
    }

    mutating func set(_ key: Key, _ value: Value, size newSize: Int) {
        if newSize > limit { return remove(key) }
        if let position = index[key] {
            size += newSize - slots[Int(position)]!.size
            slots[Int(position)]!.value = value
            slots[Int(position)]!.size = newSize
            if position != newest {
                unlink(position)
                linkAsNewest(position)
            }
        } else {
            let slot = Slot(key: key, value: value, size: newSize, newer: Self.none, older: Self.none)
            let position: Int32
            if let reused = free.popLast() {
                position = reused
                slots[Int(position)] = slot
            } else {
                position = Int32(slots.count)
                slots.append(slot)
            }
            index[key] = position
            size += newSize
            linkAsNewest(position)
        }
        while size > limit { remove(slots[Int(oldest)]!.key) }
    }

    mutating func remove(_ key: Key) {
        guard let position = index.removeValue(forKey: key) else { return }
        unlink(position)
        size -= slots[Int(position)]!.size
        slots[Int(position)] = nil
        free.append(position)
    }

    mutating func removeAll() {
        if index.isEmpty { return }
        self = RecencyList(limit: limit)
    }

    private mutating func unlink(_ position: Int32) {
        let (newer, older) = (slots[Int(position)]!.newer, slots[Int(position)]!.older)
        if newer == Self.none { newest = older } else { slots[Int(newer)]!.older = older }
        if older == Self.none { oldest = newer } else { slots[Int(older)]!.newer = newer }
    }

    private mutating func linkAsNewest(_ position: Int32) {
        slots[Int(position)]!.newer = Self.none
        slots[Int(position)]!.older = newest
        if newest != Self.none { slots[Int(newest)]!.newer = position }
        newest = position
        if oldest == Self.none { oldest = position }
    }
}
