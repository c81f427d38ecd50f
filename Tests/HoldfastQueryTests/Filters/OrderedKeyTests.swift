import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
import Testing

@Suite("Keys that order values")
struct OrderedKeyTests {
    private func key(_ values: [JSONValue], _ descending: [Bool] = []) -> OrderedKey {
        var key = OrderedKey()
        for (index, value) in values.enumerated() {
            key.append(value, descending: descending.indices.contains(index) && descending[index])
        }
        return key
    }

    private func key(ofText text: String, descending: Bool = false) throws -> OrderedKey {
        try text.withBytes { bytes in
            let walker = JSONWalker(bytes)
            var key = OrderedKey()
            try key.append(valueAt: walker.skipWhiteSpace(0), in: walker, descending: descending)
            return key
        }
    }

    @Test("The bytes of tuples are ordered as their values are, in each column's direction", arguments: Seeds.of(500))
    func ordersTuples(seed: UInt64) {
        var samples = JSONSamples(seed: seed)
        let directions = (0..<3).map { _ in samples.below(2) == 0 }
        let tuples = (0..<12).map { _ in (0..<3).map { _ in samples.value(depth: 2) } }
        for left in tuples {
            for right in tuples {
                var expected = 0
                for ((left, right), isDescending) in zip(zip(left, right), directions) where expected == 0 {
                    expected = PlainOrder.order(left, right) * (isDescending ? -1 : 1)
                }
                let (a, b) = (key(left, directions), key(right, directions))
                #expect((a < b) == (expected < 0) && (a == b) == (expected == 0), "\(left) \(right)")
            }
        }
    }

    @Test("No value's code is the beginning of another's", arguments: Seeds.of(200))
    func isPrefixFree(seed: UInt64) {
        var samples = JSONSamples(seed: seed)
        let keys = (0..<20).map { _ in key([samples.value(depth: 3)]) }
        for left in keys {
            for right in keys where left != right { #expect(!right.bytes.starts(with: left.bytes)) }
        }
    }

    @Test("A text, in any of its spellings, and a literal have the same bytes", arguments: Seeds.of(500))
    func textAndLiteral(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let value = samples.value(depth: 4)
        #expect(try key(ofText: samples.text(of: value)) == key([value]))
        #expect(try key(ofText: samples.text(of: value), descending: true) == key([value], [true]))
    }

    @Test("Numbers are ordered exactly, also where doubles have gaps")
    func numbers() throws {
        let ascending = [
            "-1e308", "-9223372036854775809.0", "-9223372036854775807", "-9007199254740993", "-9007199254740992.0",
            "-9007199254740991", "-1.5", "-1", "-5e-324", "0", "5e-324", "0.1", "1", "1.5", "9007199254740991",
            "9007199254740992", "9007199254740993", "9007199254740994.0", "9223372036854774784.0",
            "9223372036854774785", "9223372036854775806", "9223372036854775807", "9223372036854775808.0", "1e308",
        ]
        let keys = try ascending.map { try key(ofText: $0) }
        for (left, right) in zip(keys, keys.dropFirst()) { #expect(left < right) }
        #expect(try key(ofText: "-0.0") == key(ofText: "0"))
        #expect(try key(ofText: "10e-1") == key(ofText: "1"))
        #expect(try key(ofText: "-9223372036854775808") == key(ofText: "-9223372036854775808.0"))
    }

    @Test("What is missing has the place of null, and an empty array that has no element comes before it")
    func missing() {
        for descending in [false, true] {
            var missing = OrderedKey()
            missing.appendMissing(descending: descending)
            #expect(missing == key([.null], [descending]))
            var empty = OrderedKey()
            empty.appendEmptyArray(descending: descending)
            #expect((empty < missing) == !descending)
        }
    }

    @Test("The bytes on disk are as documented")
    func format() throws {
        let text = #"[null,1,-2.5,9007199254740993,"a\u0000",{"k":true},[],false]"#
        #expect(
            try hexadecimal(key(ofText: text).bytes)
                == "30" + "10" + "18bff0000000000000" + "183ffbffffffffffff" + "18c3400000000000000001"
                + "206100ff0000" + "28386b00000100" + "3000" + "3800" + "00")
    }

    @Test("Damaged bytes end in an error, however deep they seem")
    func corrupt() {
        #expect(throws: CorruptJSON.self) { try key(ofText: String(repeating: "[", count: 1 << 20)) }
        #expect(throws: CorruptJSON.self) { try key(ofText: #"{"a":"#) }
    }
}
