internal import Foundation

/// What the values are, as `JSONDecoder` with its own strategies sees them.
extension EntityText {
    func decode<Value: Decodable>(_ type: Value.Type, at place: Int) throws -> Value {
        if type == String.self { return same(try string(at: place), as: type) }
        if type == Int.self { return same(try integer(at: place) as Int, as: type) }
        if type == Bool.self { return same(try bool(at: place), as: type) }
        if type == Double.self { return same(try double(at: place), as: type) }
        if let other = try decodeOther(type, at: place) { return other }
        return try Value(from: EntityTextDecoder(text: self, place: place))
    }

    private func decodeOther<Value>(_ type: Value.Type, at place: Int) throws -> Value? {
        if type == Float.self { return same(try float(at: place), as: type) }
        if type == Int64.self { return same(try integer(at: place) as Int64, as: type) }
        if type == Int32.self { return same(try integer(at: place) as Int32, as: type) }
        if type == Int16.self { return same(try integer(at: place) as Int16, as: type) }
        if type == Int8.self { return same(try integer(at: place) as Int8, as: type) }
        if type == UInt.self { return same(try integer(at: place) as UInt, as: type) }
        if type == UInt64.self { return same(try integer(at: place) as UInt64, as: type) }
        if type == UInt32.self { return same(try integer(at: place) as UInt32, as: type) }
        if type == UInt16.self { return same(try integer(at: place) as UInt16, as: type) }
        if type == UInt8.self { return same(try integer(at: place) as UInt8, as: type) }
        if type == Data.self {
            guard let data = Data(base64Encoded: try string(at: place)) else { throw doubt() }
            return same(data, as: type)
        }
        if type == URL.self {
            guard let url = URL(string: try string(at: place)) else { throw doubt() }
            return same(url, as: type)
        }
        // These it reads in ways of its own.
        if type == Decimal.self || type == Int128.self || type == UInt128.self { throw doubt() }
        return nil
    }

    /// The same value, of the type that it is known to be of.
    private func same<From, To>(_ value: From, as type: To.Type) -> To { unsafeBitCast(value, to: type) }

    func isNull(at place: Int) -> Bool { values[place].kind == .null }

    private func bool(at place: Int) throws -> Bool {
        switch values[place].kind {
        case .true: true
        case .false: false
        default: throw doubt()
        }
    }

    // MARK: Numbers

    private func integer<Integer: FixedWidthInteger>(at place: Int) throws -> Integer {
        let value = values[place]
        guard value.kind == .integer else { throw doubt() }
        let isNegative = bytes[Int(value.start)] == UInt8(ascii: "-")
        var result: Integer = 0
        for byte in bytes[Int(value.start) + (isNegative ? 1 : 0)..<Int(value.end)] {
            let digit = Integer(truncatingIfNeeded: byte &- UInt8(ascii: "0"))
            let (product, isTooLarge) = result.multipliedReportingOverflow(by: 10)
            let (sum, isOver) =
                isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if isTooLarge || isOver { throw doubt() }
            result = sum
        }
        return result
    }

    private func double(at place: Int) throws -> Double {
        guard let result = Double(try numberText(at: place)), result.isFinite, result != 0 || isZero(at: place) else {
            throw doubt()
        }
        return result
    }

    private func float(at place: Int) throws -> Float {
        guard let result = Float(try numberText(at: place)), result.isFinite, result != 0 || isZero(at: place) else {
            throw doubt()
        }
        return result
    }

    private func numberText(at place: Int) throws -> String {
        let value = values[place]
        guard value.kind == .integer || value.kind == .number else { throw doubt() }
        return String(decoding: bytes[Int(value.start)..<Int(value.end)], as: UTF8.self)
    }

    /// Whether a number is written as 0, rather than too small to be told from it.
    private func isZero(at place: Int) -> Bool {
        let value = values[place]
        return value.end - value.start == 1 && bytes[Int(value.start)] == UInt8(ascii: "0")
    }

    // MARK: Strings

    private func string(at place: Int) throws -> String {
        let value = values[place]
        let range = Int(value.start)..<Int(value.end)
        switch value.kind {
        case .ascii: return String(decoding: bytes[range], as: UTF8.self)
        case .text:
            guard let string = String(validating: bytes[range], as: UTF8.self) else { throw doubt() }
            return string
        case .escaped:
            guard let string = String(validating: try unescaped(range), as: UTF8.self) else { throw doubt() }
            return string
        default: throw doubt()
        }
    }

    private func unescaped(_ range: Range<Int>) throws -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(range.count)
        var position = range.lowerBound
        while position < range.upperBound {
            guard bytes[position] == UInt8(ascii: "\\") else {
                result.append(bytes[position])
                position += 1
                continue
            }
            // The scanner has seen that something follows.
            position += 2
            switch bytes[position - 1] {
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case let byte where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "/"):
                result.append(byte)
            // Code units by number are rare: the encoder writes only control characters so.
            default: throw doubt()
            }
        }
        return result
    }
}
