import Foundation
import SeededRandom

/// An entity with everything in it that a type may hold.
struct Assorted: Codable, Equatable {
    enum Colour: String, Codable, CaseIterable {
        case red
        case green = "grün"
    }

    enum Shape: Codable, Equatable {
        case point
        case circle(radius: Double)
        indirect case pair(Shape, Shape)
    }

    struct Name: RawRepresentable, Codable, Equatable, Hashable { var rawValue: String }

    struct Inner: Codable, Equatable {
        var title = ""
        var numbers: [Int?] = []
        var deeper: [Inner] = []
    }

    /// In an array, and in arrays and objects in that.
    struct Unkeyed: Codable, Equatable {
        enum Keys: String, CodingKey { case flag }
        var number: Int
        var texts: [String]
        var flag: Bool?

        init(number: Int, texts: [String], flag: Bool?) { (self.number, self.texts, self.flag) = (number, texts, flag) }

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            number = try container.decode(Int.self)
            var inner = try container.nestedUnkeyedContainer()
            texts = []
            while !inner.isAtEnd { texts.append(try inner.decode(String.self)) }
            let object = try container.nestedContainer(keyedBy: Keys.self)
            flag = try object.decodeIfPresent(Bool.self, forKey: .flag)
            guard try container.decodeNil(), container.isAtEnd else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "more than there should be")
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(number)
            var inner = container.nestedUnkeyedContainer()
            for text in texts { try inner.encode(text) }
            var object = container.nestedContainer(keyedBy: Keys.self)
            try object.encodeIfPresent(flag, forKey: .flag)
            try container.encodeNil()
        }
    }

    class Base: Codable {
        var base = 0
        init(base: Int) { self.base = base }
    }

    final class Derived: Base, Equatable {
        enum Keys: CodingKey { case own }
        var own = ""

        init(base: Int, own: String) {
            super.init(base: base)
            self.own = own
        }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            try super.init(from: container.superDecoder())
            own = try container.decode(String.self, forKey: .own)
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(own, forKey: .own)
            try super.encode(to: container.superEncoder())
        }

        static func == (left: Derived, right: Derived) -> Bool { left.base == right.base && left.own == right.own }
    }

    var id: String
    var int: Int
    var int8: Int8
    var int16: Int16
    var int32: Int32
    var int64: Int64
    var uint: UInt
    var uint8: UInt8
    var uint16: UInt16
    var uint32: UInt32
    var uint64: UInt64
    var float: Float
    var double: Double
    var bool: Bool
    var texts: [String]
    var optional: String?
    var missing: Int?
    var date: Date
    var data: Data
    var url: URL?
    var decimal: Decimal?
    var uuid: UUID
    var colour: Colour
    var shape: Shape
    var name: Name
    var inner: Inner
    var unkeyed: Unkeyed?
    var derived: Derived?
    var byText: [String: Double]
    var byNumber: [Int: String]
    var byName: [Name: [Bool]]
    var set: Set<Int>
    var range: Range<Int>
    var doubles: [[Double]]
}

extension Assorted {
    /// - Parameter isPlain: Whether it holds nothing that is left to the standard decoder.
    init(_ random: inout SeededGenerator, isPlain: Bool) {
        func whole<Integer: FixedWidthInteger>(_: Integer.Type = Integer.self) -> Integer {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: .min
            case 1: .max
            default: .random(in: .min ... .max, using: &random) >> Integer(random.next() % UInt64(Integer.bitWidth))
            }
        }
        func real() -> Double {
            switch Int.random(in: 0..<3, using: &random) {
            case 0: Double(Int.random(in: -1_000...1_000, using: &random)) / 8
            case 1: Double.random(in: -1...1, using: &random)
            default: Double.random(in: -1e15...1e15, using: &random) * 1e15
            }
        }
        func text() -> String {
            let letters = isPlain ? "abz 09_-/\"\\\n\tßü→😀" : "a\u{0}\u{1f}\u{7f}e\u{301}é\u{2028}\r\u{8}\u{c}\"\\"
            let count = Int.random(in: 0..<12, using: &random)
            return String((0..<count).map { _ in letters.randomElement(using: &random)! })
        }
        func some<Element>(_ make: () -> Element) -> [Element] {
            (0..<Int.random(in: 0..<4, using: &random)).map { _ in make() }
        }
        func maybe<Value>(_ make: () -> Value) -> Value? { Bool.random(using: &random) ? make() : nil }
        func shape(_ depth: Int) -> Shape {
            switch Int.random(in: 0..<(depth > 0 ? 3 : 2), using: &random) {
            case 0: .point
            case 1: .circle(radius: real())
            default: .pair(shape(depth - 1), shape(depth - 1))
            }
        }
        func inner(_ depth: Int) -> Inner {
            Inner(
                title: text(), numbers: some { maybe { whole() } },
                deeper: depth > 0 ? some { inner(depth - 1) } : [])
        }
        func key() -> String { isPlain ? "k\(Int.random(in: 0..<100, using: &random))" : text() }

        id = text()
        (int, int8, int16, int32, int64) = (whole(), whole(), whole(), whole(), whole())
        (uint, uint8, uint16, uint32, uint64) = (whole(), whole(), whole(), whole(), whole())
        (float, double) = (Float(Float16(Float.random(in: -1000...1000, using: &random))), real())
        bool = .random(using: &random)
        texts = some(text)
        (optional, missing) = (maybe(text), maybe { whole() })
        date = Date(timeIntervalSinceReferenceDate: real())
        data = Data(some { whole(UInt8.self) })
        url = maybe { URL(string: "https://example.org/\(Int.random(in: 0..<9, using: &random))?a=b")! }
        decimal = isPlain ? nil : maybe { Decimal(whole(Int64.self)) / 1000 }
        uuid = UUID(uuidString: "5F0C2A6E-1B1D-4D52-9C0B-\(100_000_000_000 + random.next() % 800_000_000_000)")!
        colour = Colour.allCases.randomElement(using: &random)!
        self.shape = shape(2)
        name = Name(rawValue: text())
        self.inner = inner(2)
        unkeyed = maybe { Unkeyed(number: whole(), texts: some(text), flag: maybe { .random(using: &random) }) }
        derived = maybe { Derived(base: whole(), own: text()) }
        byText = Dictionary(some { (key(), real()) }, uniquingKeysWith: { first, _ in first })
        byNumber = Dictionary(some { (whole(), text()) }, uniquingKeysWith: { first, _ in first })
        byName = Dictionary(
            some { (Name(rawValue: key()), some { .random(using: &random) }) }, uniquingKeysWith: { first, _ in first })
        set = Set(some { whole() })
        range = -3..<Int.random(in: 0..<9, using: &random)
        doubles = some { some(real) }
    }
}
