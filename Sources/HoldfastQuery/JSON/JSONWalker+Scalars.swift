internal import HoldfastEnvironment

/// A JSON number as this library compares it: integers exactly, everything else as a double.
public enum JSONNumber: Sendable, Comparable {
    case integer(Int64)
    case real(Double)

    /// By value: 1 equals 1.0, and no integer is rounded to be compared.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool { left.order(right) == 0 }

    public static func < (left: JSONNumber, right: JSONNumber) -> Bool { left.order(right) < 0 }

    /// Negative, 0 or positive.
    package func order(_ other: JSONNumber) -> Int {
        switch (self, other) {
        case (.integer(let a), .integer(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.real(let a), .real(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.integer(let a), .real(let b)): Self.order(a, b)
        case (.real(let a), .integer(let b)): -Self.order(b, a)
        }
    }

    /// A double beyond the integers' range lies beyond every integer; within it, its whole part is an
    /// integer exactly, and the fraction decides between equals.
    private static func order(_ integer: Int64, _ real: Double) -> Int {
        if real >= 0x1p63 { return -1 }
        if real < -0x1p63 { return 1 }
        let whole = real.rounded(.towardZero)
        let other = Int64(whole)
        if integer != other { return integer < other ? -1 : 1 }
        return whole < real ? -1 : whole > real ? 1 : 0
    }
}

extension JSONWalker {
    // MARK: Numbers

    /// The number that begins at `position`: an integer where the text has neither fraction nor
    /// exponent and fits 64 bits, otherwise the double nearest to the text.
    public func number(at start: Int) throws(CorruptJSON) -> JSONNumber {
        var position = start
        let isNegative = position < end && byte(position) == UInt8(ascii: "-")
        if isNegative { position &+= 1 }

        var digits = DecimalDigits()
        position = digits.append(from: self, at: position)
        guard digits.count > 0 else { throw CorruptJSON(position: position) }
        if position >= end || Self.endsScalar(byte(position)) {
            if digits.areExact, digits.value <= UInt64(Int64.max) + (isNegative ? 1 : 0) {
                return .integer(Int64(truncatingIfNeeded: isNegative ? 0 &- digits.value : digits.value))
            }
            return .real(try nearestDouble(start, position))
        }

        var exponent = 0
        if byte(position) == UInt8(ascii: ".") {
            let whole = digits.count
            position = digits.append(from: self, at: position &+ 1)
            exponent = whole &- digits.count
        }
        if position < end, byte(position) | 0x20 == UInt8(ascii: "e") {
            position &+= 1
            let isReduced = position < end && byte(position) == UInt8(ascii: "-")
            if isReduced || (position < end && byte(position) == UInt8(ascii: "+")) { position &+= 1 }
            var power = DecimalDigits()
            position = power.append(from: self, at: position)
            // Beyond four digits the exact value no longer matters here: the slow path reads the text.
            let magnitude = power.count <= 4 ? Int(power.value) : 10_000
            exponent &+= isReduced ? -magnitude : magnitude
        }
        guard position >= end || Self.endsScalar(byte(position)) else { throw CorruptJSON(position: position) }

        // Both factors are doubles without rounding, so the one operation rounds correctly.
        if digits.areExact, digits.value <= 1 << 53, exponent >= -22, exponent <= 22 {
            let magnitude = Double(digits.value)
            let scaled = exponent < 0 ? magnitude / powerOfTen(-exponent) : magnitude * powerOfTen(exponent)
            return .real(isNegative ? -scaled : scaled)
        }
        return .real(try nearestDouble(start, position))
    }

    private func powerOfTen(_ exponent: Int) -> Double {
        var power = 1.0
        for _ in 0..<exponent { power *= 10 }  // exact up to 10^22
        return power
    }

    private func nearestDouble(_ start: Int, _ end: Int) throws(CorruptJSON) -> Double {
        guard let value = Double(String(decoding: bytes(start, end), as: UTF8.self)) else {
            throw CorruptJSON(position: start)
        }
        return value
    }

    /// Digits read so far. Nineteen of them always fit 64 bits.
    private struct DecimalDigits {
        var value: UInt64 = 0
        var count = 0
        var areExact: Bool { count <= 19 }

        mutating func append(from walker: JSONWalker, at start: Int) -> Int {
            var position = start
            while position < walker.end {
                let digit = walker.byte(position) &- UInt8(ascii: "0")
                guard digit <= 9 else { break }
                value = value &* 10 &+ UInt64(digit)
                count &+= 1
                position &+= 1
            }
            return position
        }
    }

    // MARK: Strings

    /// Whether a string, its escapes resolved, has exactly these bytes.
    @inline(__always)
    public func equals(_ text: JSONText, _ literal: UnsafeRawBufferPointer) throws(CorruptJSON) -> Bool {
        if text.hasEscapes { return try order(text, literal) == 0 }
        let count = text.end &- text.start
        guard count == literal.count, let other = literal.baseAddress else { return count == literal.count }
        return memcmp(base + text.start, other, count) == 0
    }

    /// Orders a string, its escapes resolved, and bytes, as `compareBytes` does: negative, 0, positive.
    @inline(never)
    public func order(_ text: JSONText, _ literal: UnsafeRawBufferPointer) throws(CorruptJSON) -> Int {
        guard text.hasEscapes else { return compareBytes(bytes(text.start, text.end), literal) }
        var decoded = DecodedBytes(walker: self, text: text)
        for byte in literal {
            guard let mine = try decoded.next() else { return -1 }
            if mine != byte { return Int(mine) - Int(byte) }
        }
        return try decoded.next() == nil ? 0 : 1
    }

    /// A string's bytes, escapes resolved.
    public func decode(_ text: JSONText) throws(CorruptJSON) -> [UInt8] {
        guard text.hasEscapes else { return Array(bytes(text.start, text.end)) }
        var result: [UInt8] = []
        result.reserveCapacity(text.end - text.start)
        var decoded = DecodedBytes(walker: self, text: text)
        while let byte = try decoded.next() { result.append(byte) }
        return result
    }
}

/// The bytes of a string, its escapes resolved one after another.
private struct DecodedBytes {
    let walker: JSONWalker
    let end: Int
    var position: Int
    /// What is left of the last escape's UTF-8, its next byte lowest.
    var pending: UInt32 = 0
    var pendingCount = 0

    init(walker: JSONWalker, text: JSONText) {
        self.walker = walker
        end = text.end
        position = text.start
    }

    mutating func next() throws(CorruptJSON) -> UInt8? {
        if pendingCount == 0 {
            guard position < end else { return nil }
            let byte = walker.byte(position)
            position += 1
            if byte != UInt8(ascii: "\\") { return byte }
            guard let encoded = UTF8.encode(try escapedScalar()) else { throw CorruptJSON(position: position) }
            for (index, byte) in encoded.enumerated() { pending |= UInt32(byte) << UInt32(8 * index) }
            pendingCount = encoded.count
        }
        defer {
            pending >>= 8
            pendingCount -= 1
        }
        return UInt8(truncatingIfNeeded: pending)
    }

    /// The character behind the backslash just read.
    private mutating func escapedScalar() throws(CorruptJSON) -> Unicode.Scalar {
        guard position < end else { throw CorruptJSON(position: position) }
        let letter = walker.byte(position)
        position += 1
        switch letter {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "u"): break
        default: throw CorruptJSON(position: position)
        }
        var value = try fourDigits()
        if value & 0xFC00 == 0xD800 {
            guard position + 1 < end, walker.byte(position) == UInt8(ascii: "\\"),
                walker.byte(position + 1) == UInt8(ascii: "u")
            else { throw CorruptJSON(position: position) }
            position += 2
            let low = try fourDigits()
            guard low & 0xFC00 == 0xDC00 else { throw CorruptJSON(position: position) }
            value = 0x10000 + (value & 0x3FF) << 10 + (low & 0x3FF)
        }
        guard let scalar = Unicode.Scalar(value) else { throw CorruptJSON(position: position) }
        return scalar
    }

    private mutating func fourDigits() throws(CorruptJSON) -> UInt32 {
        guard position + 4 <= end else { throw CorruptJSON(position: position) }
        var value: UInt32 = 0
        for _ in 0..<4 {
            let byte = walker.byte(position)
            let letter = byte | 0x20
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte & 0xF)
            case _ where letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "f"):
                value = value << 4 | UInt32(letter - UInt8(ascii: "a") + 10)
            default: throw CorruptJSON(position: position)
            }
            position += 1
        }
        return value
    }
}
