public import Holdfast

/// So many values by key, of which the one that was used longest ago makes room for a new one.
///
///     var covers = LRUCache<String, Image>(capacity: 100)
///     covers.set(image, for: "s1")
///     let cover = covers.get("s1")
///
/// Each call takes a constant time. It is a value: to be used by several tasks at once it needs an owner, such as a
/// ``CacheManager``, or an actor.
public struct LRUCache<Key: Hashable, Value> {
    /// An entry, between the one that goes before it and the one that goes after it.
    fileprivate struct Node {
        var key: Key
        /// Nil of a free one.
        var value: Value?
        var previous: Int?
        var next: Int?
    }

    /// How many values at most; nil: any number.
    public let capacity: Int?
    /// Which one goes: with `.fifo` the one that came first.
    public let strategy: CacheStrategy

    private var nodes: [Node] = []
    private var free: [Int] = []
    private var places: [Key: Int] = [:]
    /// Goes next.
    private var first: Int?
    private var last: Int?

    /// An empty one. Of no capacity, or less, it keeps nothing.
    public init(capacity: Int?, strategy: CacheStrategy = .lru) {
        self.capacity = capacity
        self.strategy = strategy
    }

    /// How many values there are.
    public var count: Int { places.count }

    /// The keys, the one that goes next first.
    public var keys: [Key] {
        Array(
            sequence(first: first, next: { $0.map { nodes[$0].next } }).lazy.prefix { $0 != nil }.map { nodes[$0!].key }
        )
    }

    /// The value of this key, or nil. Counts as use.
    public mutating func get(_ key: Key) -> Value? {
        guard let place = places[key] else { return nil }
        use(place)
        return nodes[place].value
    }

    /// Keeps a value. Counts as use; with `.fifo` a key that is there keeps its place.
    /// - Returns: The key whose value had to go, if one had.
    @discardableResult
    public mutating func set(_ value: Value, for key: Key) -> Key? {
        if let place = places[key] {
            nodes[place].value = value
            use(place)
            return nil
        }
        if let capacity, capacity <= 0 { return nil }
        let evicted = count == capacity ? removeNext() : nil
        let node = Node(key: key, value: value)
        let place: Int
        if let old = free.popLast() {
            nodes[old] = node
            place = old
        } else {
            nodes.append(node)
            place = nodes.count - 1
        }
        places[key] = place
        append(place)
        return evicted
    }

    /// Lets go of the value of this key, and answers it; nil where there is none.
    @discardableResult
    public mutating func remove(_ key: Key) -> Value? {
        guard let place = places.removeValue(forKey: key) else { return nil }
        unlink(place)
        free.append(place)
        return nodes[place].value.take()
    }

    /// Lets go of the value that goes next, and answers its key; nil where there is none.
    @discardableResult
    public mutating func removeNext() -> Key? {
        guard let key = first.map({ nodes[$0].key }) else { return nil }
        remove(key)
        return key
    }

    /// Lets go of all values.
    public mutating func removeAll() { self = LRUCache(capacity: capacity, strategy: strategy) }

    // MARK: The order

    private mutating func use(_ place: Int) {
        guard strategy == .lru, place != last else { return }
        unlink(place)
        append(place)
    }

    private mutating func append(_ place: Int) {
        (nodes[place].previous, nodes[place].next) = (last, nil)
        if let last { nodes[last].next = place } else { first = place }
        last = place
    }

    private mutating func unlink(_ place: Int) {
        let (previous, next) = (nodes[place].previous, nodes[place].next)
        if let previous { nodes[previous].next = next } else { first = next }
        if let next { nodes[next].previous = previous } else { last = previous }
    }
}

extension LRUCache: Sendable where Key: Sendable, Value: Sendable {}
extension LRUCache.Node: Sendable where Key: Sendable, Value: Sendable {}
