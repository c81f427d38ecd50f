import HoldfastQuery
import Testing

@Suite("Assigning ids")
struct AssignedIDTests {
    @Test(
        "The id becomes the first member and nothing else changes",
        arguments: [
            ("{}", #"{"id":"x"}"#), ("{ }", #"{"id":"x" }"#), (#"{"a":1}"#, #"{"id":"x","a":1}"#),
            ("{\n  \"a\": 1.0\n}", "{\"id\":\"x\",\n  \"a\": 1.0\n}"),
        ])
    func insertion(entity: String, expected: String) throws {
        let result = try entity.withBytes {
            try AssignedID.insert(EntityID(unchecked: Array("x".utf8)), named: "id", into: $0)
        }
        #expect(String(decoding: result, as: UTF8.self) == expected)
    }

    @Test("The key field's name is escaped where it must be")
    func escapedName() throws {
        let result = try "{}".withBytes {
            try AssignedID.insert(EntityID(unchecked: Array("1".utf8)), named: "a\"b", into: $0)
        }
        #expect(String(decoding: result, as: UTF8.self) == #"{"a\"b":"1"}"#)
    }

    @Test("The RFC's example of a version 7 UUID comes out of its parts")
    func knownAnswer() {
        var generator = UUIDv7Generator()
        // RFC 9562, appendix A.6: unix_ts_ms 0x017F22E279B0, rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F.
        let id = generator.next(milliseconds: 0x017F_22E2_79B0, random: (high: 0xCC3, low: 0x18C4_DC0C_0C07_398F))
        #expect(id.text == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
    }

    @Test("Ids of one generator rise, within a millisecond, across overflow, and when the clock steps back")
    func monotonic() {
        var samples = JSONSamples(seed: 7)
        var generator = UUIDv7Generator()
        var last = generator.next(milliseconds: 1000, random: (high: .max, low: .max))
        for step in 0..<10_000 {
            let now = UInt64(1000 + (step % 100) - (step % 7) * 20)
            let id = generator.next(
                milliseconds: now, random: step % 50 == 0 ? (.max, .max) : (samples.next(), samples.next()))
            #expect(id > last)
            #expect(id.bytes.count == 36 && id.bytes[14] == UInt8(ascii: "7"))
            #expect(
                [UInt8(ascii: "8"), UInt8(ascii: "9"), UInt8(ascii: "a"), UInt8(ascii: "b")].contains(id.bytes[19]))
            last = id
        }
    }

    @Test("No time is too large to be given")
    func extremeTime() {
        var generator = UUIDv7Generator()
        _ = generator.next(milliseconds: .max, random: (.max, .max))
        _ = generator.next(milliseconds: .max, random: (.max, .max))
    }
}
