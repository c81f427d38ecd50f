internal import HoldfastEnvironment

#if canImport(Darwin)
    internal import Darwin
#else
    internal import Glibc
#endif

extension ExpressionPlace {
    func number(_ value: JSONValue) throws(HoldfastError) -> JSONNumber {
        guard let number = value.number else { throw needs("numbers", not: value) }
        return number
    }

    /// A whole number, such as a position or a count.
    func whole(_ value: JSONValue?, _ what: String) throws(HoldfastError) -> Int64 {
        guard let whole = value?.number?.whole else { throw needs("a whole number for \(what)", not: value) }
        return whole
    }

    /// JSON has no infinity, and what is no number.
    func finite(_ real: Double) throws(HoldfastError) -> JSONValue {
        guard real.isFinite else {
            throw refusal("leaves the range of doubles: choose another result for such operands with \"$cond\"")
        }
        return .real(real)
    }
}

/// Sums of any numbers: of integers exactly, as a double where 64 bits do not hold the sum; with a double among them, within
/// a rounding of the exact sum of nearly all (Neumaier's compensated summation).
struct Summation {
    private var integers: Int128 = 0
    private var reals = 0.0
    private var compensation = 0.0
    private var hasReal = false

    mutating func add(_ number: JSONNumber) {
        switch number {
        case .integer(let integer): integers += Int128(integer)
        case .real(let real):
            hasReal = true
            add(real)
        }
    }

    private mutating func add(_ real: Double) {
        let sum = reals + real
        compensation += abs(reals) >= abs(real) ? (reals - sum) + real : (real - sum) + reals
        reals = sum
    }

    /// May be beyond what a double holds.
    var total: JSONNumber {
        if hasReal { return .real(double) }
        return Int64(exactly: integers).map(JSONNumber.integer) ?? .real(Double(integers))
    }

    var double: Double {
        guard hasReal else { return Double(integers) }
        var all = self
        let high = Double(integers)
        all.add(high)
        all.add(Double(integers - Int128(high)))
        return all.reals + all.compensation
    }
}

/// `$add`.
final class Sum: ExpressionNode {
    private let operands: [any ExpressionNode]
    private let place: ExpressionPlace

    private init(_ operands: [any ExpressionNode], _ place: ExpressionPlace) {
        self.operands = operands
        self.place = place
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        Sum(try compiler.operands(value, 0...Int.max, place), place)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        var sum = Summation()
        for operand in operands {
            guard let value = try operand.evaluate(&evaluation), value.kind != .null else { return .null }
            sum.add(try place.number(value))
        }
        if case .integer(let integer) = sum.total { return .integer(integer) }
        return try place.finite(sum.double)
    }
}

/// `$multiply`.
final class Product: ExpressionNode {
    private let operands: [any ExpressionNode]
    private let place: ExpressionPlace

    private init(_ operands: [any ExpressionNode], _ place: ExpressionPlace) {
        self.operands = operands
        self.place = place
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        Product(try compiler.operands(value, 0...Int.max, place), place)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        var product = JSONNumber.integer(1)
        for operand in operands {
            guard let value = try operand.evaluate(&evaluation), value.kind != .null else { return .null }
            product = Self.multiply(product, try place.number(value))
        }
        if case .integer(let integer) = product { return .integer(integer) }
        return try place.finite(product.double)
    }

    static func multiply(_ left: JSONNumber, _ right: JSONNumber) -> JSONNumber {
        if case .integer(let left) = left, case .integer(let right) = right {
            let (product, overflows) = left.multipliedReportingOverflow(by: right)
            if !overflows { return .integer(product) }
        }
        return .real(left.double * right.double)
    }
}

/// The other operators of numbers. Null and what is missing make null.
enum Arithmetic {
    static let subtract: BinaryFunction = { left, right, place, _ throws(HoldfastError) in
        guard let (left, right) = try numbers(left, right, place) else { return .null }
        if case .integer(let left) = left, case .integer(let right) = right {
            let (difference, overflows) = left.subtractingReportingOverflow(right)
            return overflows ? .real(Double(Int128(left) - Int128(right))) : .integer(difference)
        }
        return try place.finite(left.double - right.double)
    }

    /// Always a double.
    static let divide: BinaryFunction = { left, right, place, _ throws(HoldfastError) in
        guard let (left, right) = try numbers(left, right, place) else { return .null }
        guard right.double != 0 else { throw divisionByZero(place) }
        return try place.finite(left.double / right.double)
    }

    /// Has the sign of the dividend.
    static let remainder: BinaryFunction = { left, right, place, _ throws(HoldfastError) in
        guard let (left, right) = try numbers(left, right, place) else { return .null }
        guard right.double != 0 else { throw divisionByZero(place) }
        if case .integer(let left) = left, case .integer(let right) = right {
            return .integer(right == -1 ? 0 : left % right)
        }
        return try place.finite(left.double.truncatingRemainder(dividingBy: right.double))
    }

    static let absolute: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        switch try number(operand, place) {
        case nil: .null
        case .integer(.min)?: .real(0x1p63)
        case .integer(let integer)?: .integer(abs(integer))
        case .real(let real)?: .real(real.magnitude)
        }
    }

    static let squareRoot: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        guard let number = try number(operand, place)?.double else { return .null }
        guard number >= 0 else { throw outOfDomain("a number of 0 or more", number, place) }
        return .real(number.squareRoot())
    }

    /// Exact for integers as long as 64 bits hold the power.
    static let power: BinaryFunction = { left, right, place, _ throws(HoldfastError) in
        guard let (base, exponent) = try numbers(left, right, place) else { return .null }
        if base.double == 0, exponent.double < 0 {
            throw place.refusal("cannot raise 0 to a negative exponent: choose another result with \"$cond\"")
        }
        if case .integer(let base) = base, case .integer(let exponent) = exponent, exponent >= 0,
            let power = integerPower(base, exponent)
        {
            return .integer(power)
        }
        let power = pow(base.double, exponent.double)
        if power.isNaN {
            throw place.refusal(
                "cannot raise the negative number \(base.double) to the exponent \(exponent.double), which is not whole: "
                    + "choose another result with \"$cond\"")
        }
        return try place.finite(power)
    }

    static let exponential: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        guard let number = try number(operand, place)?.double else { return .null }
        return try place.finite(exp(number))
    }

    static let naturalLogarithm: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        guard let number = try positive(operand, place) else { return .null }
        return .real(log(number))
    }

    static let decimalLogarithm: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        guard let number = try positive(operand, place) else { return .null }
        return .real(log10(number))
    }

    static let logarithm: BinaryFunction = { left, right, place, _ throws(HoldfastError) in
        guard let (left, right) = try numbers(left, right, place) else { return .null }
        guard left.double > 0 else { throw outOfDomain("a number above 0", left.double, place) }
        guard right.double > 0, right.double != 1 else {
            throw outOfDomain("a base above 0 that is not 1", right.double, place)
        }
        return try place.finite(log(left.double) / log(right.double))
    }

    // MARK: Operands

    /// Nil for null and what is missing.
    static func number(_ value: JSONValue?, _ place: ExpressionPlace) throws(HoldfastError) -> JSONNumber? {
        guard let value, value.kind != .null else { return nil }
        return try place.number(value)
    }

    private static func numbers(
        _ left: JSONValue?, _ right: JSONValue?, _ place: ExpressionPlace
    ) throws(HoldfastError) -> (JSONNumber, JSONNumber)? {
        guard let left = try number(left, place), let right = try number(right, place) else { return nil }
        return (left, right)
    }

    private static func positive(_ value: JSONValue?, _ place: ExpressionPlace) throws(HoldfastError) -> Double? {
        guard let number = try number(value, place)?.double else { return nil }
        guard number > 0 else { throw outOfDomain("a number above 0", number, place) }
        return number
    }

    private static func outOfDomain(_ needed: String, _ number: Double, _ place: ExpressionPlace) -> HoldfastError {
        place.refusal("takes \(needed), not \(number): choose another result with \"$cond\"")
    }

    private static func divisionByZero(_ place: ExpressionPlace) -> HoldfastError {
        place.refusal("cannot divide by 0: choose another result for a divisor of 0 with \"$cond\"")
    }

    /// Nil where it leaves 64 bits. Takes as many steps as the exponent has bits.
    private static func integerPower(_ base: Int64, _ exponent: Int64) -> Int64? {
        var (result, factor, left): (Int64, Int64, Int64) = (1, base, exponent)
        while left > 0 {
            if left & 1 == 1 {
                let (product, overflows) = result.multipliedReportingOverflow(by: factor)
                if overflows { return nil }
                result = product
            }
            left >>= 1
            if left == 0 { break }
            let (square, overflows) = factor.multipliedReportingOverflow(by: factor)
            if overflows { return nil }
            factor = square
        }
        return result
    }
}
