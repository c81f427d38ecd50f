package import HoldfastEnvironment

/// A tuple of JSON values as bytes whose order is the values' order: what indexes keep on disk, and what sorting
/// compares. `memcmp` of two keys orders their tuples value by value, in MongoDB's order:
///
///     empty array as a sort key < null and missing < numbers < strings < objects < arrays < booleans
///
/// Equal values have equal bytes, however they were written (1, 1.0 and 10e-1; 0 and -0; "é" and "\u00e9"), and no
/// value's code is the beginning of another's, so that codes can follow each other in a key.
///
/// The format, which is that of indexes on disk and so never changes. A value is a byte for its type, then:
///
///     08 empty array, where it stands for its elements (`appendEmptyArray`); nothing follows
///     10 null         nothing follows
///     18 number       the greatest double that is not above the number, -0 as 0, as 8 bytes, highest first: the
///                     bits with the sign bit flipped where it is 0, all bits flipped where it is 1. Where that
///                     double's magnitude is at least 2^53, the number minus the double follows as 2 bytes,
///                     highest first: of 64-bit integers it is below 1024, of doubles it is 0.
///     20 string       its UTF-8 bytes, each 00 as 00 FF, then 00 00
///     28 object       for each member, in the order of the text: the type byte of its value, its name as a
///                     string without type byte, its value without type byte; then 00. (So MongoDB compares
///                     objects: member by member, by type, then name, then value; the shorter is less.)
///     30 array        each element as a value, then 00
///     38 boolean      00 for false, 01 for true
///
/// A value in descending order has all of its bytes complemented, the type byte too.
public struct OrderedKey: Sendable, Hashable, Comparable {
    public var bytes: [UInt8] = []

    public init() {}

    // Both in one go; what the compiler would make goes byte by byte.
    public static func == (left: OrderedKey, right: OrderedKey) -> Bool { left.bytes == right.bytes }

    public func hash(into hasher: inout Hasher) { bytes.withBytes { hasher.combine(bytes: $0) } }

    public static func < (left: OrderedKey, right: OrderedKey) -> Bool {
        left.bytes.withBytes { left in right.bytes.withBytes { compareBytes(left, $0) < 0 } }
    }

    // MARK: Appending

    /// Appends the value that begins at `position` of a text. After an error the key is of no use.
    public mutating func append(
        valueAt position: Int, in walker: JSONWalker, descending: Bool = false
    ) throws(CorruptJSON) {
        let start = bytes.count
        let kind = try walker.kind(at: position)
        bytes.append(kind.code)
        try encode(kind, at: position, in: walker, depth: 0)
        if descending { complement(from: start) }
    }

    public mutating func append(_ literal: JSONValue, descending: Bool = false) {
        let start = bytes.count
        bytes.append(literal.kind.code)
        encode(literal)
        if descending { complement(from: start) }
    }

    /// What is missing has the place of null.
    public mutating func appendMissing(descending: Bool = false) { append(.null, descending: descending) }

    /// An empty array that stands for its elements has none to stand for it, and comes before null.
    public mutating func appendEmptyArray(descending: Bool = false) {
        bytes.append(descending ? ~Code.emptyArray : Code.emptyArray)
    }

    private mutating func complement(from start: Int) {
        for index in start..<bytes.count { bytes[index] = ~bytes[index] }
    }

    // MARK: Encoding

    fileprivate enum Code {
        static let end: UInt8 = 0x00
        static let emptyArray: UInt8 = 0x08
    }

    /// Checked entities are never so deep: what is comes from damaged bytes, and must not use up the stack.
    private static let maxDepth = 256

    /// A value without its type byte.
    private mutating func encode(
        _ kind: JSONKind, at position: Int, in walker: JSONWalker, depth: Int
    ) throws(CorruptJSON) {
        guard depth < Self.maxDepth else { throw CorruptJSON(position: position) }
        switch kind {
        case .null: break
        case .boolean: bytes.append(walker.boolean(at: position) ? 1 : 0)
        case .number: encode(try walker.number(at: position))
        case .string: try encode(walker.text(at: position), in: walker)
        case .object:
            var members = try walker.members(of: position)
            while let member = try members.next() {
                let kind = try walker.kind(at: member.value)
                bytes.append(kind.code)
                try encode(member.name, in: walker)
                try encode(kind, at: member.value, in: walker, depth: depth + 1)
            }
            bytes.append(Code.end)
        case .array:
            var elements = try walker.elements(of: position)
            while let element = try elements.next() {
                let kind = try walker.kind(at: element)
                bytes.append(kind.code)
                try encode(kind, at: element, in: walker, depth: depth + 1)
            }
            bytes.append(Code.end)
        }
    }

    /// A literal without its type byte.
    private mutating func encode(_ literal: JSONValue) {
        switch literal {
        case .null: break
        case .bool(let flag): bytes.append(flag ? 1 : 0)
        case .integer(let integer): encode(JSONNumber.integer(integer))
        case .real(let real): encode(JSONNumber.real(real))
        case .string(let text): text.withBytes { encode($0) }
        case .object(let members):
            for member in members {
                bytes.append(member.value.kind.code)
                member.name.withBytes { encode($0) }
                encode(member.value)
            }
            bytes.append(Code.end)
        case .array(let elements):
            for element in elements {
                bytes.append(element.kind.code)
                encode(element)
            }
            bytes.append(Code.end)
        }
    }

    private mutating func encode(_ text: JSONText, in walker: JSONWalker) throws(CorruptJSON) {
        if text.hasEscapes {
            try walker.decode(text).withBytes { encode($0) }
        } else {
            encode(walker.bytes(text.start, text.end))
        }
    }

    private mutating func encode(_ text: UnsafeRawBufferPointer) {
        if text.contains(0) {
            for byte in text {
                bytes.append(byte)
                if byte == 0 { bytes.append(0xFF) }
            }
        } else {
            bytes.append(contentsOf: text)
        }
        bytes.append(0)
        bytes.append(0)
    }

    private mutating func encode(_ number: JSONNumber) {
        var double: Double
        var remainder: UInt16 = 0
        switch number {
        case .real(let real): double = real
        case .integer(let integer):
            double = Double(integer)
            // Rounding may have gone up, at most to 2^63, which no integer reaches.
            if double >= 0x1p63 || Int64(double) > integer { double = double.nextDown }
            remainder = UInt16(truncatingIfNeeded: integer &- Int64(double))
        }
        if double == 0 { double = 0 }
        let bits = double.bitPattern
        append(bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
        if double.magnitude >= 0x1p53 { append(remainder) }
    }

    private mutating func append(_ integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }
}

extension JSONKind {
    /// The type byte, which orders the types.
    package var code: UInt8 {
        switch self {
        case .null: 0x10
        case .number: 0x18
        case .string: 0x20
        case .object: 0x28
        case .array: 0x30
        case .boolean: 0x38
        }
    }

    /// Orders the types.
    package var rank: Int { Int(code) }
}

extension JSONValue {
    package var kind: JSONKind {
        switch self {
        case .null: .null
        case .bool: .boolean
        case .integer, .real: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }
}

extension ItemWalker {
    /// Makes `key` that of the value at `position`: equal values have equal keys, and the lesser the lesser one.
    func setKey(_ key: inout OrderedKey, at position: Int) throws(HoldfastError) {
        key.bytes.removeAll(keepingCapacity: true)
        do { try key.append(valueAt: position, in: walker) } catch { throw HoldfastError(error) }
    }

    package func key(at position: Int) throws(HoldfastError) -> OrderedKey {
        var key = OrderedKey()
        try setKey(&key, at: position)
        return key
    }
}
