import SeededRandom
import Testing

@testable import HoldfastCore
@testable import HoldfastQuery
@testable import HoldfastStorage

struct KeyOrderTests {
    @Test(arguments: 0..<40)
    func `keys are ordered as they compare, equal ones as they came`(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        // Ids of few letters around the length at which they are first told apart, many of them prefixes of others.
        let keys = (0..<Int.random(in: 0...200, using: &random)).map { _ in
            let start = [UInt8](repeating: UInt8(ascii: "x"), count: [0, 7, 14, 15, 16].randomElement(using: &random)!)
            let end = (0..<Int.random(in: 1...3, using: &random)).map { _ in UInt8.random(in: 97...98, using: &random) }
            return EntityKey(.random(in: 1...2, using: &random), EntityID(unchecked: start + end))
        }
        let order = KeyOrder(count: keys.count) { keys[$0] }
        let expected = keys.indices.sorted { keys[$0] == keys[$1] ? $0 < $1 : keys[$0] < keys[$1] }
        #expect(order.indexes == expected)
        #expect(order.hasDuplicates == (Set(keys).count < keys.count))
    }
}
