internal import HoldfastQuery

/// Reading keys back, for messages and explanations.
extension OrderedKey {
    /// The values of an index's key as JSON: the value alone where there is one field, else an array of them.
    static func json(of key: [UInt8], _ definition: IndexDefinition) -> String {
        var decoder = KeyDecoder(bytes: key)
        let values = definition.fields.map { decoder.value(descending: $0.descending) }
        var writer = JSONWriter()
        if values.count == 1 {
            writer.value(values[0])
        } else {
            writer.beginArray()
            for value in values { writer.value(value) }
            writer.endArray()
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// Reads what `OrderedKey` has written. Bytes that it has not written read as null.
struct KeyDecoder {
    private let bytes: [UInt8]
    private var position = 0
    private var mask: UInt8 = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func value(descending: Bool) -> JSONValue {
        mask = descending ? 0xFF : 0
        return value(ofType: next())
    }

    private mutating func next() -> UInt8 {
        guard position < bytes.count else { return 0 }
        defer { position += 1 }
        return bytes[position] ^ mask
    }

    /// Entities are never so deep: what is comes from damaged bytes, and must not use up the stack.
    private static let maxDepth = 256

    private mutating func value(ofType code: UInt8, depth: Int = 0) -> JSONValue {
        if depth > Self.maxDepth { return .null }
        switch code {
        case 0x08: return .array([])
        case JSONKind.number.code: return number()
        case JSONKind.string.code: return .string(text())
        case JSONKind.boolean.code: return .bool(next() != 0)
        case JSONKind.array.code:
            var elements: [JSONValue] = []
            while true {
                let code = next()
                if code == 0 { return .array(elements) }
                elements.append(value(ofType: code, depth: depth + 1))
            }
        case JSONKind.object.code:
            var members: [JSONValue.Member] = []
            while true {
                let code = next()
                if code == 0 { return .object(members) }
                let name = text()
                members.append(JSONValue.Member(name: name, value: value(ofType: code, depth: depth + 1)))
            }
        default: return .null
        }
    }

    private mutating func integer(_ count: Int) -> UInt64 {
        (0..<count).reduce(0) { value, _ in value << 8 | UInt64(next()) }
    }

    private mutating func number() -> JSONValue {
        let bits = integer(8)
        let double = Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
        let remainder = double.magnitude >= 0x1p53 ? Int64(integer(2)) : 0
        if let whole = Int64(exactly: double) { return .integer(whole &+ remainder) }
        return .real(double)
    }

    private mutating func text() -> [UInt8] {
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = next()
            if byte == 0, next() == 0 { break }
            text.append(byte)
        }
        return text
    }
}
