internal import HoldfastQuery

/// Where the rows lie of entities that are written again and again: a row whose number is known is updated without a search
/// for it by its id, and without being taken for a new one first, which spares a third of the statement.
///
/// They are hints, which the statement holds against the id: the number of an entity that was deleted, or of one that was never
/// stored because its transaction was rolled back, updates nothing, and the entity is written by its id. So nothing is taken
/// back with a transaction, and other processes may write meanwhile.
///
/// Each key has one place, which it shares with others. To find the number of a row that is there costs a search, and is done
/// for a key that comes again before another has taken its place: keys that are written once pay nothing.
struct RowNumbers {
    private struct Place {
        var hash: UInt64 = 0
        /// 0: not known.
        var number: Int64 = 0
    }

    /// Empty until something is written.
    private var places: [Place] = []
    private let count: Int

    /// With more changes a commit each, a batch is a load: rows that are new, and each would take the place of one that is written
    /// again and again.
    static func areWorthwhile(_ changes: Int, in commits: Int) -> Bool { changes <= 64 * commits }

    init(places count: Int) { self.count = min(count, 1 << 20) }

    /// The number of the row whose key has this hash, 0 if it was seen and its number is not known, and nil if another key was
    /// seen last, or none.
    func number(under hash: UInt64) -> Int64? {
        if places.isEmpty { return nil }
        let place = places[place(of: hash)]
        return place.hash == hash ? place.number : nil
    }

    mutating func note(_ number: Int64, under hash: UInt64) {
        if places.isEmpty { places = Array(repeating: Place(), count: count) }
        places[place(of: hash)] = Place(hash: hash, number: number)
    }

    private func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: (hash >> 32) % UInt64(count)) }

    /// Never 0. Keys that share one cost each other time, and nothing else.
    static func hash(_ repository: RepositoryID, _ id: UnsafeRawBufferPointer) -> UInt64 {
        // Odd, and otherwise without a pattern: the golden ratio, as Knuth takes it for hashing.
        let factor: UInt64 = 0x9e37_79b9_7f4a_7c15
        var hash = UInt64(bitPattern: repository) &* factor
        func mix(_ word: UInt64) {
            hash = (hash ^ word) &* factor
            hash ^= hash >> 32
        }
        var rest = id
        while rest.count >= 8 {
            mix(rest.loadUnaligned(as: UInt64.self))
            rest = UnsafeRawBufferPointer(rebasing: rest[8...])
        }
        var last = UInt64(id.count)
        for byte in rest { last = last << 8 | UInt64(byte) }
        mix(last)
        return hash | 1
    }
}
