import SeededRandom
import Testing

@testable import HoldfastCore

struct RecencyListTests {
    /// The same, simply: an array, the newest first.
    private struct Model {
        let limit: Int
        var entries: [(key: Int, value: Int, size: Int)] = []

        mutating func use(_ key: Int) -> Int? {
            guard let found = entries.firstIndex(where: { $0.key == key }) else { return nil }
            entries.insert(entries.remove(at: found), at: 0)
            return entries[0].value
        }

        mutating func set(_ key: Int, _ value: Int, size: Int) {
            entries.removeAll { $0.key == key }
            if size > limit { return }
            entries.insert((key, value, size), at: 0)
            while entries.reduce(0, { $0 + $1.size }) > limit { entries.removeLast() }
        }
    }

    @Test(arguments: [0, 1, 7, 100, 1_000])
    func `a recency list drops what was used longest ago, as a simple model does`(limit: Int) {
        var random = SeededGenerator(seed: UInt64(limit))
        var list = RecencyList<Int, Int>(limit: limit)
        var model = Model(limit: limit)
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<60, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5: #expect(list.use(key) == model.use(key))
            case 5..<9:
                let size = Int.random(in: 1...12, using: &random)
                list.set(key, step, size: size)
                model.set(key, step, size: size)
            default:
                if step % 500 == 0 {
                    list.removeAll()
                    model.entries = []
                } else {
                    list.remove(key)
                    model.entries.removeAll { $0.key == key }
                }
            }
            #expect(list.count == model.entries.count)
            #expect(list.size == model.entries.reduce(0) { $0 + $1.size })
        }
    }
}
