internal import HoldfastEnvironment

extension JSONValue {
    /// Orders two values as `OrderedKey` does, without making keys: negative, 0, positive.
    package func order(_ other: JSONValue) -> Int {
        let types = kind.rank - other.kind.rank
        return types != 0 ? types : order(sameKind: other)
    }

    private func order(sameKind other: JSONValue) -> Int {
        switch (self, other) {
        case (.bool(let left), .bool(let right)): return (left ? 1 : 0) - (right ? 1 : 0)
        case (.string(let left), .string(let right)): return Self.order(left, right)
        case (.array(let left), .array(let right)):
            for (left, right) in zip(left, right) {
                let order = left.order(right)
                if order != 0 { return order }
            }
            return left.count - right.count
        case (.object(let left), .object(let right)):
            for (left, right) in zip(left, right) {
                let types = left.value.kind.rank - right.value.kind.rank
                if types != 0 { return types }
                let names = Self.order(left.name, right.name)
                if names != 0 { return names }
                let values = left.value.order(sameKind: right.value)
                if values != 0 { return values }
            }
            return left.count - right.count
        default:
            guard let left = number, let right = other.number else { return 0 }
            return left.order(right)
        }
    }

    private static func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.withBytes { left in right.withBytes { right in compareBytes(left, right) } }
    }

    /// As what compares it by value; nil where it is no number.
    package var number: JSONNumber? {
        switch self {
        case .integer(let integer): .integer(integer)
        case .real(let real): .real(real)
        default: nil
        }
    }

    package init(_ number: JSONNumber) {
        switch number {
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        }
    }

    /// The bytes of memory that it takes, besides its own place. Recurses as deep as it is.
    package var memory: Int {
        switch self {
        case .null, .bool, .integer, .real: 0
        case .string(let text): 32 + text.count
        case .array(let elements):
            elements.reduce(32) { $0 + MemoryLayout<JSONValue>.stride + $1.memory }
        case .object(let members):
            members.reduce(32) { $0 + MemoryLayout<Member>.stride + 32 + $1.name.count + $1.value.memory }
        }
    }
}

extension JSONNumber {
    package var double: Double {
        switch self {
        case .integer(let integer): Double(integer)
        case .real(let real): real
        }
    }

    /// The number as a whole one of 64 bits; nil where it is none.
    var whole: Int64? {
        switch self {
        case .integer(let integer): integer
        case .real(let real): Int64(exactly: real)
        }
    }
}

extension JSONValue {
    /// The same within an expression, whose loops may compare long values again and again: as much is spent as the shorter one
    /// is long.
    func order(
        _ other: JSONValue, _ place: ExpressionPlace, _ evaluation: inout Evaluation
    ) throws(HoldfastError) -> Int {
        switch (self, other) {
        case (.string(let left), .string(let right)): try evaluation.spend(min(left.count, right.count), place)
        case (.array(let left), .array(let right)):
            try evaluation.spend(walking: left.count < right.count ? self : other, place)
        case (.object(let left), .object(let right)):
            try evaluation.spend(walking: left.count < right.count ? self : other, place)
        default: break
        }
        return order(other)
    }
}

/// Comparisons, in the order of all values. What is missing comes before null.
enum Comparison {
    private static func order(
        _ left: JSONValue?, _ right: JSONValue?, _ place: ExpressionPlace, _ evaluation: inout Evaluation
    ) throws(HoldfastError) -> Int {
        switch (left, right) {
        case (let left?, let right?): try left.order(right, place, &evaluation)
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        }
    }

    static let equal: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        .bool(try order(left, right, place, &evaluation) == 0)
    }
    static let notEqual: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        .bool(try order(left, right, place, &evaluation) != 0)
    }
    static let greater: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        .bool(try order(left, right, place, &evaluation) > 0)
    }
    static let greaterOrEqual: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        .bool(try order(left, right, place, &evaluation) >= 0)
    }
    static let less: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        .bool(try order(left, right, place, &evaluation) < 0)
    }
    static let lessOrEqual: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        .bool(try order(left, right, place, &evaluation) <= 0)
    }
    static let compare: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        .integer(Int64(try order(left, right, place, &evaluation).signum()))
    }
    static let not: UnaryFunction = { operand, _, _ in .bool(!operand.isTrue) }
}
