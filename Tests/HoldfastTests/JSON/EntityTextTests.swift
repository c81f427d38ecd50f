import Foundation
import SeededRandom
import Testing

@testable import Holdfast

/// Reads a number, or else a text, or else nothing, and hides what went wrong.
private struct Lenient: Decodable, Equatable {
    enum Keys: CodingKey { case value, other }
    var number: Int?
    var text: String?
    var other: [Int?]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        number = try? container.decode(Int.self, forKey: .value)
        text = try? container.decode(String.self, forKey: .value)
        other = (try? container.decode([Int?].self, forKey: .other)) ?? []
    }
}

/// Where it stands, by the decoder's word.
private struct Placed: Decodable, Equatable {
    var path: [String]
    init(from decoder: any Decoder) throws { path = decoder.codingPath.map(\.stringValue) }
}

private struct Named: Decodable, Equatable {
    enum Keys: String, CodingKey {
        case plain
        case decomposed = "e\u{301}"
        case kelvin = "\u{212A}"
    }
    var plain: Int?
    var decomposed: Int?
    var kelvin: Int?

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        plain = try container.decodeIfPresent(Int.self, forKey: .plain)
        decomposed = try container.decodeIfPresent(Int.self, forKey: .decomposed)
        kelvin = try container.decodeIfPresent(Int.self, forKey: .kelvin)
    }
}

private struct Nothing: Decodable, Equatable {}

@Suite("The library's own decoding")
struct EntityTextTests {
    private let decoder = JSONDecoder()
    private let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    /// It may answer nothing, but nothing else.
    @discardableResult
    private func expectSame<Value: Decodable & Equatable>(_ type: Value.Type, _ text: [UInt8]) -> Value? {
        let own = EntityText.decode(type, from: text)
        guard let own else { return nil }
        #expect(
            own == (try? decoder.decode(type, from: Data(text))), "\(type) of \(String(decoding: text, as: UTF8.self))")
        return own
    }

    @discardableResult
    private func expectSame<Value: Decodable & Equatable>(_ type: Value.Type, _ text: String) -> Value? {
        expectSame(type, Array(text.utf8))
    }

    @Test("reads what types commonly hold, and as JSONDecoder does", arguments: [true, false])
    func values(isPlain: Bool) throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let value = Assorted(&random, isPlain: isPlain)
            let text = Array(try encoder.encode(value))
            let own = expectSame(Assorted.self, text)
            if isPlain { #expect(own == value) }
        }
    }

    @Test("reads nothing else than JSONDecoder from texts that were damaged")
    func damage() throws {
        var random = SeededGenerator(seed: 2)
        let pieces = ["\"", "\\", "{", "}", "[", "]", ",", ":", "1", "-", ".", "e", "null", "true", " ", "\u{e9}", "0"]
        for round in 0..<3_000 {
            var text = Array(try encoder.encode(Assorted(&random, isPlain: round.isMultiple(of: 2))))
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: text.remove(at: place)
                case 1: text[place] = UInt8.random(in: .min ... .max, using: &random)
                case 2: text.insert(contentsOf: pieces.randomElement(using: &random)!.utf8, at: place)
                default: text.swapAt(place, Int.random(in: 0..<text.count, using: &random))
                }
            }
            expectSame(Assorted.self, text)
        }
    }

    @Test(
        "reads numbers of all types as JSONDecoder does",
        arguments: [
            "0", "-0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "65535", "65536", "2147483648",
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
            "18446744073709551615", "18446744073709551616", "1.0", "1.5", "-1.5", "1e2", "1E+2", "1e-2", "0.1",
            "123456789012345678901234567890", "1e308", "1e309", "-1e309", "1e-400", "0.0", "-0.0", "0e5", "4.9e-324",
            "3.4028235e38", "3.4028236e38", "1e39", "1e-46", "16777217", "9007199254740993", "01", "-01", "1.", ".5",
            "+1", "1e", "--1", "0x10", "NaN", "Infinity", "1 2", "", " 7 ", "true", "null", "\"1\"",
        ])
    func numbers(text: String) {
        func check<Number: Decodable & Equatable>(_ type: Number.Type) {
            expectSame(type, text)
            expectSame([Number].self, "[\(text)]")
            expectSame([String: Number?].self, "{\"a\":\(text)}")
        }
        check(Int.self)
        check(Int8.self)
        check(Int16.self)
        check(Int32.self)
        check(Int64.self)
        check(UInt.self)
        check(UInt8.self)
        check(UInt16.self)
        check(UInt32.self)
        check(UInt64.self)
        check(Int128.self)
        check(UInt128.self)
        check(Decimal.self)
        check(Bool.self)
        check(String.self)
        check(Date.self)
        // Minus zero equals zero.
        if let own = expectSame(Double.self, text) {
            #expect(own.sign == (try? decoder.decode(Double.self, from: Data(text.utf8)))?.sign)
        }
        if let own = expectSame(Float.self, text) {
            #expect(own.sign == (try? decoder.decode(Float.self, from: Data(text.utf8)))?.sign)
        }
    }

    @Test(
        "reads strings as JSONDecoder does",
        arguments: [
            #""""#, #""abc""#, #""a\nb\t\r\b\f\"\\\/""#, #""\u0041""#, #""\u00e9\ud83d\ude00""#, #""\ud83d""#,
            #""\ude00x""#,
            #""\x""#, #""\u12""#, #""\""#, "\"\u{1}\"", "\"a\nb\"", "\"é\"", "\"e\u{301}\"", "\"😀\"", "\"\u{7f}\"",
            #""abc"#,
            #"abc""#, #""a" "b""#,
        ])
    func strings(text: String) throws {
        expectSame(String.self, text)
        expectSame([String?].self, "[\(text), null]")
        expectSame([String: String].self, "{\(text):\(text)}")
        expectSame([String: String].self, "{\(text):\"first\",\(text):\"second\"}")
    }

    @Test("reads no bytes that are not UTF-8")
    func invalidUTF8() {
        for bytes: [UInt8] in [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] {
            #expect(expectSame(String.self, [0x22] + bytes + [0x22]) == nil)
            expectSame([String: Int].self, [0x7B, 0x22] + bytes + [0x22, 0x3A, 0x31, 0x7D])
        }
    }

    @Test("leaves to JSONDecoder what a type tries and what it asks about itself")
    func attempts() {
        for value in ["1", "\"a\"", "1.0", "1.5", "null", "[]", "1e400", "\"\\u0041\""] {
            for other in ["[1,2]", "[1,null]", "[1,\"a\"]", "{}", "[1.0]"] {
                expectSame(Lenient.self, "{\"value\":\(value),\"other\":\(other)}")
            }
        }
        #expect(expectSame([String: Placed].self, "{\"a\":1}") == nil)
    }

    @Test("finds members whose names are equal but not the same bytes, as JSONDecoder does")
    func names() {
        for name in ["plain", "e\u{301}", "\u{e9}", "K", "\u{212A}", "\\u0070lain"] {
            expectSame(Named.self, "{\"\(name)\":1}")
            expectSame(Named.self, "{\"\(name)\":1,\"plain\":2}")
            expectSame(Named.self, "{\"plain\":2,\"\(name)\":1}")
        }
    }

    @Test("reads large objects, and the first of several members of one name")
    func largeObjects() throws {
        for count in [1, 15, 16, 17, 18, 100] {
            let names = (0..<count).map { "\"n\($0 * 7 % count)\":\($0)" }
            let text = "{\(names.joined(separator: ",")),\"n0\":-1}"
            #expect(expectSame([String: Int].self, text)?["n0"] == 0)
        }
    }

    @Test("goes only so deep")
    func depth() {
        for depth in [10, 199, 200, 201, 600, 100_000] {
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            expectSame([Nothing].self, text)
            expectSame([String: Nothing].self, "{\"a\":\(text)}")
        }
    }
}
