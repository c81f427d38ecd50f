internal import Synchronization

/// Which of the cached entities that share a limit goes first when there are too many of them, or too many bytes: the one
/// used longest ago (LRU), or the one inserted first (FIFO).
///
/// A heap by the moments when they were used. Those who read note the moment at the entity alone, for they have no lock, so
/// that what the heap knows is as late as that, or earlier. It catches up when an entity is to go: the first in the heap, if
/// it was used since the heap was told, moves to where it belongs, until the first is one of which the heap knows the truth.
/// All others were used later than that one. So the order is exact, and each use costs a move at most, and only where
/// entities are evicted.
struct EvictionOrder: Sendable {
    typealias Entity = CachedEntity.Pointer

    private struct Place: @unchecked Sendable {
        // Sendable: reached under the cache's lock alone.
        var moment: UInt64
        var entity: Entity
    }

    let strategy: CachePolicy.Strategy
    let maxCount: Int
    let maxSize: Int
    private(set) var size = 0
    private var places: [Place] = []

    init(_ strategy: CachePolicy.Strategy, maxCount: Int = .max, maxSize: Int = .max) {
        self.strategy = strategy
        self.maxCount = maxCount
        self.maxSize = maxSize
    }

    var count: Int { places.count }

    /// What it takes of the process's memory itself.
    var heldBytes: Int { places.capacity * MemoryLayout<Place>.stride }

    /// Whether nothing will ever be in it.
    var holdsNothing: Bool { maxCount == 0 || maxSize == 0 }

    func hasRoom(for added: Int) -> Bool { count < maxCount && size + added <= maxSize }

    var isOverfull: Bool { size > maxSize || count > maxCount }

    /// As the one that is to go last, which its `used` says.
    mutating func append(_ entity: Entity) {
        places.append(Place(moment: entity.pointee.used.load(ordering: .relaxed), entity: entity))
        entity.pointee.place = Int32(count - 1)
        size += entity.size
        moveUp(from: count - 1)
    }

    /// Overwriting keeps the place with FIFO; with LRU it is use, of which the heap hears later.
    mutating func replace(_ old: Entity, with new: Entity) {
        let place = old.pointee.place
        new.pointee.place = place
        places[Int(place)].entity = new
        size += new.size - old.size
    }

    mutating func remove(_ entity: Entity) {
        let position = Int(entity.pointee.place)
        size -= entity.size
        let last = places.removeLast()
        if position == count { return }
        put(last, at: position)
        moveDown(from: position)
        moveUp(from: position)
    }

    mutating func removeAll() { self = EvictionOrder(strategy, maxCount: maxCount, maxSize: maxSize) }

    /// The one that is to go first, which there must be.
    mutating func first() -> Entity {
        if strategy == .fifo { return places[0].entity }
        let now = moment()
        while true {
            let used = places[0].entity.pointee.used.load(ordering: .relaxed)
            // Where all are used while this goes on, it is enough to have met one that is not the first any more.
            if used <= places[0].moment || places[0].moment >= now { return places[0].entity }
            places[0].moment = used
            moveDown(from: 0)
        }
    }

    /// By how early it is to go.
    func rank(_ entity: Entity) -> UInt64 {
        strategy == .fifo ? places[Int(entity.pointee.place)].moment : entity.pointee.used.load(ordering: .relaxed)
    }

    private mutating func put(_ place: Place, at position: Int) {
        places[position] = place
        place.entity.pointee.place = Int32(position)
    }

    private mutating func moveUp(from start: Int) {
        let place = places[start]
        var position = start
        while position > 0, places[(position - 1) / 2].moment > place.moment {
            put(places[(position - 1) / 2], at: position)
            position = (position - 1) / 2
        }
        put(place, at: position)
    }

    private mutating func moveDown(from start: Int) {
        let place = places[start]
        var position = start
        while true {
            var child = 2 * position + 1
            if child + 1 < count, places[child + 1].moment < places[child].moment { child += 1 }
            guard child < count, places[child].moment < place.moment else { break }
            put(places[child], at: position)
            position = child
        }
        put(place, at: position)
    }

    /// What is wrong with it, or nil: `CacheState` numbers it.
    func violatedInvariant(_ entities: [Entity]) -> String? {
        if entities.count != count { return "the order has \(count) entries of \(entities.count)" }
        for (position, place) in places.enumerated() {
            if Int(place.entity.pointee.place) != position { return "entry \(position) stands elsewhere" }
            if position > 0, places[(position - 1) / 2].moment > place.moment { return "\(position) is out of order" }
        }
        if Set(places.map(\.entity)) != Set(entities) { return "the order has other entries than the tables" }
        let bytes = entities.reduce(0) { $0 + $1.size }
        if size != bytes { return "entries of \(bytes) bytes count as \(size)" }
        return isOverfull ? "\(count) entries of \(size) bytes are too many" : nil
    }
}
