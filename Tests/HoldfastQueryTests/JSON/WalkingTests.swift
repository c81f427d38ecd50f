import HoldfastQuery
import SeededRandom
import Testing

@Suite("Walking JSON text in place")
struct WalkingTests {
    private func number(_ text: String) throws -> JSONNumber {
        try text.withBytes { try JSONWalker($0).number(at: 0) }
    }

    /// Rebuilds the tree by walking, to be compared with the parser's.
    private func tree(_ walker: JSONWalker, at position: Int) throws -> JSONValue {
        switch try walker.kind(at: position) {
        case .null: return .null
        case .boolean: return .bool(walker.boolean(at: position))
        case .number:
            switch try walker.number(at: position) {
            case .integer(let value): return .integer(value)
            case .real(let value): return .real(value)
            }
        case .string: return .string(try walker.decode(walker.text(at: position)))
        case .array:
            var result: [JSONValue] = []
            var elements = try walker.elements(of: position)
            while let element = try elements.next() { result.append(try tree(walker, at: element)) }
            return .array(result)
        case .object:
            var result: [JSONValue.Member] = []
            var members = try walker.members(of: position)
            while let member = try members.next() {
                let name = try walker.decode(member.name)
                #expect(try name.withUnsafeBytes { try walker.equals(member.name, $0) })
                result.append(.init(name: name, value: try tree(walker, at: member.value)))
            }
            return .object(result)
        }
    }

    @Test("Walking yields what the parser yields, in every spelling", arguments: Seeds.of(200))
    func agreesWithParser(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let value = samples.value(depth: 5)
        let text = samples.text(of: value)
        #expect(try text.parsed() == value)
        try text.withBytes { bytes throws in
            let walker = JSONWalker(bytes)
            #expect(try tree(walker, at: 0) == value)
            #expect(try walker.endOfValue(at: 0) == bytes.count)
        }
    }

    @Test("A member is found by its name, however it is escaped, and not by a name inside a value")
    func memberLookup() throws {
        let text = #"{ "a\"b":1, "x":{"c":2}, "y":["c",{"c":3}], "\u0063":4, "\ud83d\ude00" : 5 }"#
        try text.withBytes { bytes throws in
            let walker = JSONWalker(bytes)
            func find(_ name: String) throws -> JSONNumber? {
                try name.withBytes { try walker.value(of: $0, in: 0) }.map { try walker.number(at: $0) }
            }
            #expect(try find("a\"b") == .integer(1))
            #expect(try find("c") == .integer(4))
            #expect(try find("\u{1F600}") == .integer(5))
            #expect(try find("a") == nil)
            #expect(try find("a\\\"b") == nil)
            #expect(try find("") == nil)
        }
    }

    @Test("A string ends at its quote and shows its escapes, at every length", arguments: 0..<50)
    func stringEnds(length: Int) throws {
        for escape in 0...length {
            let before = String(repeating: "x", count: escape)
            let after = String(repeating: "x", count: length - escape)
            for trailing in ["", String(repeating: "\"", count: 40)] {
                try "\"\(before)\(after)\"\(trailing)".withBytes { bytes throws in
                    let text = try JSONWalker(bytes).text(at: 0)
                    #expect(text.end == length + 1 && !text.hasEscapes)
                }
                try "\"\(before)\\\"\(after)\"\(trailing)".withBytes { bytes throws in
                    let text = try JSONWalker(bytes).text(at: 0)
                    #expect(text.end == length + 3 && text.hasEscapes)
                }
            }
        }
    }

    @Test("Strings are ordered by their decoded bytes")
    func stringOrder() throws {
        let text = #""b\u0063d""#
        try text.withBytes { bytes throws in
            let walker = JSONWalker(bytes)
            let string = try walker.text(at: 0)
            #expect(try "bcd".withBytes { try walker.order(string, $0) } == 0)
            #expect(try "bc".withBytes { try walker.order(string, $0) } > 0)
            #expect(try "bcde".withBytes { try walker.order(string, $0) } < 0)
            #expect(try "bd".withBytes { try walker.order(string, $0) } < 0)
        }
    }

    @Test("Integers stay exact to the ends of 64 bits and become doubles beyond")
    func integers() throws {
        #expect(try number("9223372036854775807") == .integer(.max))
        #expect(try number("-9223372036854775808") == .integer(.min))
        #expect(try number("9223372036854775808") == .real(0x1p63))
        #expect(try number("123456789012345678901234567890") == .real(Double("123456789012345678901234567890")!))
    }

    @Test("Doubles are the ones nearest to the text", arguments: Seeds.of(300))
    func doubles(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let digits = String(samples.next() >> UInt64(samples.below(60)))
        let exponent = samples.below(2) == 0 ? samples.below(50) - 25 : samples.below(600) - 310
        for text in [
            "\(digits).\(samples.below(1_000_000))", "-\(digits)e\(exponent)", "0.\(digits)E+\(samples.below(30))",
        ] {
            #expect(try number(text) == .real(Double(text)!), "\(text)")
        }
    }

    @Test("Integers and doubles compare without rounding")
    func comparison() {
        let limit: Int64 = 1 << 53
        #expect(JSONNumber.integer(limit) == .real(0x1p53))
        #expect(JSONNumber.integer(limit + 1) != .real(0x1p53))
        #expect(JSONNumber.integer(limit + 1) > .real(0x1p53))
        #expect(JSONNumber.real(0x1p53) < .integer(limit + 1))
        #expect(JSONNumber.integer(.max) < .real(0x1p63))
        #expect(JSONNumber.integer(.min) == .real(-0x1p63))
        #expect(JSONNumber.integer(-1) > .real(-1.5))
        #expect(JSONNumber.integer(1) < .real(1.5))
        #expect(JSONNumber.integer(0) == .real(-0.0))
        #expect(JSONNumber.real(.leastNonzeroMagnitude) > .integer(0))
    }

    @Test("Damaged text is an error or a wrong value, never a read out of bounds", arguments: Seeds.of(200))
    func damage(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        var bytes = Array(samples.text(of: samples.object(depth: 4)).utf8)
        for _ in 0..<50 {
            var damaged = bytes
            if samples.below(2) == 0 { damaged.removeLast(samples.below(bytes.count)) }
            for _ in 0..<samples.below(4) {
                damaged[samples.below(damaged.count)] = UInt8(
                    truncatingIfNeeded: samples.pick([34, 92, 123, 91, 125, 93, 0, 117]))
            }
            // An allocation of exactly this size, so that a sanitizer notices any byte too far.
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: damaged.count, alignment: 1)
            defer { memory.deallocate() }
            memory.copyBytes(from: damaged)
            _ = try? tree(JSONWalker(UnsafeRawBufferPointer(memory)), at: 0)
        }
        bytes.removeAll()
        let error = #expect(throws: CorruptJSON.self) { try bytes.withUnsafeBytes { try JSONWalker($0).kind(at: 0) } }
        #expect(error?.position == 0)
    }
}
