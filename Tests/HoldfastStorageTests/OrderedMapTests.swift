import SeededRandom
import Testing

@testable import HoldfastStorage

/// The persistent map against a plain dictionary, over random operations.
struct OrderedMapTests {
    @Test(arguments: [8, 100, 2_000])
    func `the map does what a sorted dictionary does, and its tree stays balanced`(keyRange: Int) {
        var random = SeededGenerator(seed: UInt64(keyRange))
        var map = OrderedMap<Int, Int>()
        var model: [Int: Int] = [:]
        for step in 0..<5_000 {
            let key = Int.random(in: 0..<keyRange, using: &random)
            // Half of the time the map shrinks on the whole, so that removal meets every shape.
            let removes = Int.random(in: 0..<10, using: &random) < ((step / 1_000) % 2 == 0 ? 3 : 7)
            map[key] = removes ? nil : step
            model[key] = removes ? nil : step
            #expect(map[key] == model[key])
            if step % 50 == 0 { expectSame(map, model) }
        }
        expectSame(map, model)
        for key in model.keys { map[key] = nil }
        #expect(map.count == 0)
    }

    @Test func `a copy does not see what is changed afterwards`() {
        var random = SeededGenerator(seed: 7)
        var map = OrderedMap<Int, Int>()
        var model: [Int: Int] = [:]
        var copies: [(OrderedMap<Int, Int>, [Int: Int])] = []
        for step in 0..<2_000 {
            let key = Int.random(in: 0..<300, using: &random)
            let value = Bool.random(using: &random) ? step : nil
            map[key] = value
            model[key] = value
            if step % 20 == 0 { copies.append((map, model)) }
            // Letting go of some makes nodes unique again that were shared.
            if copies.count > 30 { copies.remove(at: Int.random(in: 0..<copies.count, using: &random)) }
        }
        for (copy, expected) in copies { expectSame(copy, expected) }
    }

    @Test func `a walk begins at the key or behind it and stops when told to`() {
        var map = OrderedMap<Int, Int>()
        for key in stride(from: 0, to: 1_000, by: 10) { map[key] = key }
        for start in -1...1_000 {
            var seen: [Int] = []
            map.walk(from: start) { key, _ in
                seen.append(key)
                return seen.count < 3
            }
            #expect(seen == Array(stride(from: 0, to: 1_000, by: 10).filter { $0 >= start }.prefix(3)))
        }
    }

    @Test func `a removal of what is not there changes nothing`() {
        var map = OrderedMap<Int, Int>()
        map[1] = 1
        let before = map.root
        map[2] = nil
        #expect(map.root === before)
    }

    @Test func `many entries in rising order are released without a deep recursion`() {
        var map = OrderedMap<Int, Int>()
        for key in 0..<100_000 { map[key] = key }
        #expect(map.count == 100_000)
        #expect(map.first?.key == 0)
        #expect(map.violatedInvariant() == nil)
    }

    private func expectSame(_ map: OrderedMap<Int, Int>, _ model: [Int: Int]) {
        var keys: [Int] = []
        var values: [Int] = []
        map.walk { key, value in
            keys.append(key)
            values.append(value)
            return true
        }
        let sorted = model.sorted { $0.key < $1.key }
        #expect(keys == sorted.map(\.key))
        #expect(values == sorted.map(\.value))
        #expect(map.count == model.count)
        #expect(map.first?.key == sorted.first?.key)
        #expect(map.violatedInvariant() == nil)
    }
}
