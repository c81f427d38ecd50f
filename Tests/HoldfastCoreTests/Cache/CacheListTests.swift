import SeededRandom
import Testing

@testable import HoldfastCore

struct CacheListTests {
    /// The same, simply: an array in the order of eviction, the first to go first.
    private struct Model {
        let strategy: CachePolicy.Strategy
        let maxCount: Int
        let maxSize: Int
        var entries: [(key: Int, value: Int, size: Int)] = []

        mutating func use(_ key: Int) -> Int? {
            guard let found = entries.firstIndex(where: { $0.key == key }) else { return nil }
            let value = entries[found].value
            if strategy == .lru { entries.append(entries.remove(at: found)) }
            return value
        }

        /// Answers whom it evicted.
        mutating func set(_ key: Int, _ value: Int, size: Int) -> [Int] {
            let found = entries.firstIndex { $0.key == key }
            if size > maxSize || maxCount == 0 {
                if let found { entries.remove(at: found) }
                return found == nil ? [] : [key]
            }
            if let found, strategy == .fifo {
                entries[found] = (key, value, size)
            } else {
                if let found { entries.remove(at: found) }
                entries.append((key, value, size))
            }
            var evicted: [Int] = []
            while entries.count > maxCount || entries.reduce(0, { $0 + $1.size }) > maxSize {
                evicted.append(entries.removeFirst().key)
            }
            return evicted
        }

        mutating func drop(_ limit: Int, where isMeant: (Int) -> Bool) -> Int {
            let dropped = entries.filter { isMeant($0.key) }.prefix(limit).map(\.key)
            entries.removeAll { dropped.contains($0.key) }
            return dropped.count
        }
    }

    @Test(arguments: CachePolicy.Strategy.allCases, [(0, 50), (1, 50), (7, 1_000), (.max, 0), (.max, 7), (40, 100)])
    func `a list drops what its strategy says, as a simple model does`(
        strategy: CachePolicy.Strategy, limits: (count: Int, size: Int)
    ) {
        var random = SeededGenerator(seed: UInt64(limits.size))
        var list = CacheList<Int, Int>(strategy, maxCount: limits.count, maxSize: limits.size)
        var model = Model(strategy: strategy, maxCount: limits.count, maxSize: limits.size)
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<60, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9: #expect(list.use(key) == model.use(key))
            case 9..<18:
                let size = Int.random(in: 1...12, using: &random)
                var evicted: [Int] = []
                let isTaken = list.set(key, step, size: size) { key, _ in evicted.append(key) }
                #expect(evicted == model.set(key, step, size: size))
                #expect(isTaken == (size <= limits.size && limits.count > 0))
            case 18:
                list.remove(key)
                model.entries.removeAll { $0.key == key }
            default:
                let limit = Int.random(in: 0..<4, using: &random)
                #expect(list.drop(limit) { $0 % 3 == 1 } == model.drop(limit) { $0 % 3 == 1 })
                if step % 500 == 0 {
                    list.removeAll()
                    model.entries = []
                }
            }
            #expect(list.count == model.entries.count)
            #expect(list.size == model.entries.reduce(0) { $0 + $1.size })
            #expect(list.contains(key) == model.entries.contains { $0.key == key })
            if step % 16 == 0 { #expect(list.violatedInvariant() == nil) }
        }
    }
}
