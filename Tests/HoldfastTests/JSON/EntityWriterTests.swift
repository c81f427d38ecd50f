import Foundation
import SeededRandom
import Testing

@testable import Holdfast

/// Does with an encoder what a type seldom does.
private struct Odd: Encodable, CaseIterable, CustomStringConvertible {
    enum Keys: CodingKey { case a, b }
    struct Failure: Error {}

    struct Failing: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(1, forKey: .a)
            throw Failure()
        }
    }

    struct Silent: Encodable {
        func encode(to encoder: any Encoder) throws {}
    }

    struct Placed: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(encoder.codingPath.map(\.stringValue))
        }
    }

    let description: String
    let encodes: @Sendable (any Encoder) throws -> Void

    func encode(to encoder: any Encoder) throws { try encodes(encoder) }

    static var allCases: [Odd] {
        [
            Odd(description: "takes a container twice") { encoder in
                var first = encoder.container(keyedBy: Keys.self)
                try first.encode(1, forKey: .b)
                var second = encoder.container(keyedBy: Keys.self)
                try second.encode(2, forKey: .a)
                try first.encode(3, forKey: .a)
            },
            Odd(description: "encodes one member twice") { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(1, forKey: .a)
                try container.encode(2, forKey: .b)
                try container.encode(3, forKey: .a)
            },
            Odd(description: "goes back to an inner container") { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                var inner = container.nestedUnkeyedContainer(forKey: .b)
                try inner.encode(1)
                try container.encode(2, forKey: .a)
                try inner.encode(3)
            },
            Odd(description: "leaves inner containers empty") { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                _ = container.nestedUnkeyedContainer(forKey: .b)
                _ = container.nestedContainer(keyedBy: Keys.self, forKey: .a)
            },
            Odd(description: "counts") { encoder in
                var container = encoder.unkeyedContainer()
                try container.encode(container.count)
                var inner = container.nestedUnkeyedContainer()
                try inner.encode(inner.count)
                try inner.encodeNil()
                try inner.encode(inner.count)
                try container.encode(container.count)
            },
            Odd(description: "encodes nothing") { _ in },
            Odd(description: "has members that encode nothing") { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(Silent(), forKey: .a)
                try container.encode([Silent()], forKey: .b)
            },
            Odd(description: "has elements that encode nothing") { encoder in
                var container = encoder.unkeyedContainer()
                try container.encode(Silent())
                try container.encode(1)
                try container.encode(Silent())
            },
            Odd(description: "catches what a member throws") { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                try? container.encode(Failing(), forKey: .b)
                try container.encode(1, forKey: .a)
            },
            Odd(description: "throws") { _ in throw Failure() },
            Odd(description: "asks where it is") { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(Placed(), forKey: .a)
            },
            Odd(description: "takes an encoder for another type") { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                try [2, 1].encode(to: container.superEncoder(forKey: .b))
                try "text".encode(to: container.superEncoder(forKey: .a))
                var inner = container.superEncoder().unkeyedContainer()
                try 1.5.encode(to: inner.superEncoder())
            },
            Odd(description: "takes encoders and uses them later") { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                let (later, never) = (container.superEncoder(forKey: .a), container.superEncoder())
                try container.encode(1, forKey: .b)
                try 2.encode(to: later)
                _ = never
            },
            Odd(description: "uses a container when it has ended") { encoder in
                var container = encoder.unkeyedContainer()
                var outer = container.nestedContainer(keyedBy: Keys.self)
                try container.encode([1])
                var inner = outer.nestedUnkeyedContainer(forKey: .a)
                try inner.encode(1)
            },
        ]
    }
}

@Suite("The library's own encoding")
struct EntityWriterTests {
    private let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    /// It may write nothing, but nothing else.
    @discardableResult
    private func expectSame(_ value: some Encodable) -> Bool {
        guard let own = EntityWriter.encode(value) else { return false }
        let text = (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) }
        #expect(String(decoding: own, as: UTF8.self) == text)
        return true
    }

    @Test("writes what types commonly hold, byte for byte as JSONEncoder does", arguments: [true, false])
    func values(isPlain: Bool) {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<1_000 {
            let isWritten = expectSame(Assorted(&random, isPlain: isPlain))
            if isPlain { #expect(isWritten) }
        }
    }

    @Test("writes numbers as JSONEncoder does")
    func numbers() {
        var random = SeededGenerator(seed: 4)
        for value in [
            0, -0.0, 1, 0.1, 1e15, 1e16, 1e17, -1e22, .leastNonzeroMagnitude, 1.7976931348623157e308, 123456.75, 1e-5,
        ] as [Double] {
            #expect(expectSame([value]))
            #expect(expectSame(["a": Float(value).isFinite ? Float(value) : 1]))
        }
        for _ in 0..<10_000 {
            expectSame(Double(bitPattern: random.next()))
            expectSame(Float(bitPattern: UInt32(truncatingIfNeeded: random.next())))
            #expect(expectSame(Int64(bitPattern: random.next())))
        }
        for value in [Double.nan, .infinity, -.infinity] { #expect(!expectSame([value])) }
        expectSame([Decimal(string: "12.50"), nil])
        expectSame([Int128.max, .min])
    }

    @Test("writes strings as JSONEncoder does")
    func strings() {
        for code in UInt32(0)..<0x250 {
            guard let scalar = Unicode.Scalar(code) else { continue }
            #expect(expectSame("a\(scalar)b\(scalar)"))
            expectSame(["x\(scalar)": 1, "x": 2, "x~~": 3])
        }
        for text in ["", "é", "e\u{301}", "😀", "\u{2028}", "a/b\\\"", "\u{FEFF}"] {
            #expect(expectSame([text]))
            expectSame([text: text])
        }
    }

    @Test("sorts members as JSONEncoder does, and knows those of one name")
    func members() {
        #expect(expectSame(["b": 1, "a": 2, "ab": 3, "B": 4, "a!": 5, "a1": 6, "a10": 7, "a2": 8, "": 9, "_": 10]))
        for depth in [10, 199, 201, 300] {
            var value: [Any] = []
            for _ in 0..<depth { value = [value] }
            expectSame(Nested(value: value))
        }
    }

    private struct Nested: Encodable {
        let value: [Any]

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for element in value { try container.encode(Nested(value: element as? [Any] ?? [])) }
        }
    }

    @Test("leaves what is odd to JSONEncoder", arguments: Odd.allCases)
    fileprivate func odd(value: Odd) {
        expectSame(value)
        expectSame([value, value])
        expectSame(["b": value, "a": value])
    }
}
