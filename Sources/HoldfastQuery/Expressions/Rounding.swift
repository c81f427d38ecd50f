internal import HoldfastEnvironment

/// `$ceil`, `$floor`, `$round` and `$trunc`. An integer stays one, and a double stays one.
enum Rounding {
    static let ceiling: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        try whole(operand, .up, place)
    }

    static let floor: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        try whole(operand, .down, place)
    }

    /// A half goes to the even neighbour.
    static let round: ListFunction = { operands, place, _ throws(HoldfastError) in
        try toPlace(operands, .toNearestOrEven, place)
    }

    static let truncate: ListFunction = { operands, place, _ throws(HoldfastError) in
        try toPlace(operands, .towardZero, place)
    }

    private static func whole(
        _ operand: JSONValue?, _ rule: FloatingPointRoundingRule, _ place: ExpressionPlace
    ) throws(HoldfastError) -> JSONValue {
        switch try Arithmetic.number(operand, place) {
        case nil: .null
        case .integer(let integer)?: .integer(integer)
        case .real(let real)?: .real(real.rounded(rule))
        }
    }

    private static func toPlace(
        _ operands: [JSONValue?], _ rule: FloatingPointRoundingRule, _ place: ExpressionPlace
    ) throws(HoldfastError) -> JSONValue {
        var digits = 0
        if operands.count > 1 {
            guard let operand = operands[1], operand.kind != .null else { return .null }
            let given = try place.whole(operand, "the decimal place")
            guard -20...100 ~= given else {
                throw place.refusal("rounds to a decimal place from -20 to 100, not \(given): give another")
            }
            digits = Int(given)
        }
        guard let number = try Arithmetic.number(operands[0], place) else { return .null }
        switch number {
        case .integer(let integer): return rounded(integer, toPlace: digits, rule)
        case .real(let real): return try place.finite(rounded(real, toPlace: digits, rule))
        }
    }

    private static func rounded(_ integer: Int64, toPlace place: Int, _ rule: FloatingPointRoundingRule) -> JSONValue {
        guard place < 0 else { return .integer(integer) }
        var unit: Int128 = 1
        for _ in 0..<(-place) { unit *= 10 }
        var (quotient, remainder) = Int128(integer.magnitude).quotientAndRemainder(dividingBy: unit)
        if rule == .toNearestOrEven, remainder * 2 > unit || (remainder * 2 == unit && quotient % 2 == 1) {
            quotient += 1
        }
        remainder = quotient * unit * (integer < 0 ? -1 : 1)
        return Int64(exactly: remainder).map(JSONValue.integer) ?? .real(Double(remainder))
    }

    /// Rounds the shortest decimal number that means the double, which is the one that people wrote: 2.675 to two places
    /// becomes 2.68, though the double is a little less than 2.675.
    private static func rounded(_ real: Double, toPlace place: Int, _ rule: FloatingPointRoundingRule) -> Double {
        guard place != 0 else { return real.rounded(rule) }
        var (digits, exponent) = decimal(real.magnitude)
        // So many digits are kept, of those that stand behind "0.".
        let kept = exponent + place
        guard kept < digits.count else { return real }
        guard kept >= 0 else { return real < 0 ? -0.0 : 0.0 }
        let isUp: Bool
        switch rule {
        case .toNearestOrEven:
            let isHalf = digits[kept] == 5 && digits[(kept + 1)...].allSatisfy { $0 == 0 }
            isUp = isHalf ? kept > 0 && digits[kept - 1] % 2 == 1 : digits[kept] >= 5
        default: isUp = false
        }
        digits.removeLast(digits.count - kept)
        if isUp {
            var index = kept - 1
            while index >= 0, digits[index] == 9 {
                digits[index] = 0
                index -= 1
            }
            if index >= 0 {
                digits[index] += 1
            } else {
                digits.insert(1, at: 0)
                exponent += 1
            }
        }
        let text = "0." + digits.map(String.init).joined() + "0e\(exponent)"
        return (real < 0 ? -1 : 1) * (Double(text) ?? 0)
    }

    /// The digits that stand behind "0.", times ten to the power of the exponent.
    private static func decimal(_ magnitude: Double) -> (digits: [UInt8], exponent: Int) {
        let text = Array(magnitude.description.utf8)
        let mantissa = text.prefix { $0 != UInt8(ascii: "e") }
        let power = Int(String(decoding: text.dropFirst(mantissa.count + 1), as: UTF8.self)) ?? 0
        let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }.count
        var digits = mantissa.filter { $0 != UInt8(ascii: ".") }.map { $0 - UInt8(ascii: "0") }
        let zeros = digits.prefix { $0 == 0 }.count
        digits.removeFirst(zeros)
        return (digits, whole - zeros + power)
    }
}
