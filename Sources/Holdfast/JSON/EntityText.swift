/// A JSON text, taken apart in one pass: its values in the order in which they begin.
///
/// `JSONDecoder` makes a dictionary for every object and looks at every value twice; that takes most of the time of
/// reading small entities. This does less, and nothing unusual: where anything is in doubt it says so, and the caller
/// asks `JSONDecoder`. So it never answers anything else than that would.
final class EntityText {
    enum Kind: UInt8 {
        case null, `true`, `false`, integer, number, array
        /// Strings of ASCII, of all else, and with escapes.
        case ascii, text, escaped
        /// Objects; of a plain one all names are ASCII without escapes, so that equal names are equal bytes.
        case plainObject, object
    }

    struct Value {
        var kind: Kind
        /// The text from start to end; of a string, what is between its quotes.
        var start: Int32
        var end: Int32
        /// The place of the value behind this one and all that is in it. Names of members are values too.
        var next: Int32
    }

    let bytes: [UInt8]
    let values: [Value]
    /// Whether something could not be told; then nothing that was decoded counts.
    private(set) var isDoubtful = false

    /// Nil for what is no JSON, or too large or deep.
    init?(_ bytes: [UInt8]) {
        guard bytes.count < Int32.max else { return nil }
        let values = bytes.withUnsafeBufferPointer { bytes -> [Value]? in
            var scanner = EntityTextScanner(bytes)
            return scanner.scan() ? scanner.values : nil
        }
        guard let values else { return nil }
        self.bytes = bytes
        self.values = values
    }

    /// What this text says as such a value; nil when in doubt, and for what `JSONDecoder` refuses.
    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) -> Value? {
        guard let text = EntityText(bytes), let value = try? text.decode(type, at: 0) else { return nil }
        return text.isDoubtful ? nil : value
    }

    /// To be thrown, also where a type may catch it.
    func doubt() -> Doubt {
        isDoubtful = true
        return Doubt()
    }

    struct Doubt: Error {}

    // MARK: Finding

    /// The places of an object's names; the value of each stands right behind it.
    func names(of object: Int) -> [Int] {
        var names: [Int] = []
        var place = object + 1
        while place < values[object].next {
            names.append(place)
            place = Int(values[place + 1].next)
        }
        return names
    }

    /// The text of a name of a plain object.
    func name(at place: Int) -> String {
        let value = values[place]
        return String(decoding: bytes[Int(value.start)..<Int(value.end)], as: UTF8.self)
    }

    /// The place of a member's value. The first of several of one name counts.
    func member(_ name: String, of object: Int) -> Int? {
        var name = name
        return name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { bytes in
                values.withUnsafeBufferPointer { values in
                    let end = Int(values[object].next)
                    var place = object + 1
                    while place < end {
                        let found = values[place]
                        let start = Int(found.start)
                        let length = Int(found.end) - start
                        if length == name.count, bytes[start..<start + length].elementsEqual(name) { return place + 1 }
                        place = Int(values[place + 1].next)
                    }
                    // Which may equal one of ASCII after all.
                    if name.contains(where: { $0 >= 0x80 }) { _ = doubt() }
                    return nil
                }
            }
        }
    }
}

/// Takes a text apart. Answers false for what RFC 8259 does not allow.
struct EntityTextScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private(set) var values: [EntityText.Value] = []

    private static let maxDepth = 200

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        values.reserveCapacity(16 + bytes.count / 16)
    }

    mutating func scan() -> Bool {
        guard value(depth: 0) else { return false }
        skipSpace()
        return position == bytes.count
    }

    private var byte: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard byte == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func append(_ kind: EntityText.Kind, from start: Int, to end: Int) {
        values.append(
            EntityText.Value(kind: kind, start: Int32(start), end: Int32(end), next: Int32(values.count + 1)))
    }

    private mutating func value(depth: Int) -> Bool {
        skipSpace()
        switch byte {
        case UInt8(ascii: "\""): return string() != nil
        case UInt8(ascii: "{"): return object(depth: depth + 1)
        case UInt8(ascii: "["): return array(depth: depth + 1)
        case UInt8(ascii: "t"): return word("true", .true)
        case UInt8(ascii: "f"): return word("false", .false)
        case UInt8(ascii: "n"): return word("null", .null)
        default: return number()
        }
    }

    private mutating func word(_ word: StaticString, _ kind: EntityText.Kind) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count,
            word.withUTF8Buffer({ $0.elementsEqual(bytes[position..<end]) })
        else { return false }
        append(kind, from: position, to: end)
        position = end
        return true
    }

    private mutating func object(depth: Int) -> Bool {
        items(.plainObject, until: "}", depth: depth) { scanner, place in
            scanner.skipSpace()
            guard let kind = scanner.string() else { return false }
            if kind != .ascii { scanner.values[place].kind = .object }
            scanner.skipSpace()
            return scanner.take(":") && scanner.value(depth: depth)
        }
    }

    private mutating func array(depth: Int) -> Bool {
        items(.array, until: "]", depth: depth) { scanner, _ in scanner.value(depth: depth) }
    }

    /// What stands between brackets, with commas between. `item` scans one, and is told where the whole is.
    @inline(__always)
    private mutating func items(
        _ kind: EntityText.Kind, until end: Unicode.Scalar, depth: Int, _ item: (inout Self, Int) -> Bool
    ) -> Bool {
        guard depth < Self.maxDepth else { return false }
        let place = values.count
        append(kind, from: position, to: position)
        position += 1
        skipSpace()
        if !take(end) {
            repeat {
                guard item(&self, place) else { return false }
                skipSpace()
            } while take(",")
            guard take(end) else { return false }
        }
        values[place].end = Int32(position)
        values[place].next = Int32(values.count)
        return true
    }

    /// Escapes are looked at when the string is wanted.
    private mutating func string() -> EntityText.Kind? {
        guard take("\"") else { return nil }
        let start = position
        var all: UInt8 = 0
        var isEscaped = false
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                let kind: EntityText.Kind = isEscaped ? .escaped : all < 0x80 ? .ascii : .text
                append(kind, from: start, to: position)
                position += 1
                return kind
            }
            guard byte >= 0x20 else { return nil }
            if byte == UInt8(ascii: "\\") {
                isEscaped = true
                position += 1
            }
            all |= byte
            position += 1
        }
        return nil
    }

    private mutating func number() -> Bool {
        let start = position
        var kind = EntityText.Kind.integer
        _ = take("-")
        if !take("0"), !digits() { return false }
        if take(".") {
            kind = .number
            guard digits() else { return false }
        }
        if byte | 0x20 == UInt8(ascii: "e") {
            kind = .number
            position += 1
            if !take("+") { _ = take("-") }
            guard digits() else { return false }
        }
        append(kind, from: start, to: position)
        return true
    }

    private mutating func digits() -> Bool {
        let start = position
        while byte &- UInt8(ascii: "0") < 10 { position += 1 }
        return position > start
    }
}
