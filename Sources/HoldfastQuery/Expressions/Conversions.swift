internal import HoldfastEnvironment

/// Conversions between types. A number has the type under which a filter's `$type` finds it: "int" for integers that 32 bits
/// hold, "long" for others, and "double".
enum Conversion {
    enum Target: String, CaseIterable, Sendable {
        case string, int, long, double
        case boolean = "bool"

        /// BSON's number of the type, which may stand for its name.
        var code: Int64 {
            switch self {
            case .double: 1
            case .string: 2
            case .boolean: 8
            case .int: 16
            case .long: 18
            }
        }
    }

    static let typeName: UnaryFunction = { operand, _, _ in .string(Array(name(of: operand).utf8)) }

    private static func name(of value: JSONValue?) -> String {
        switch value {
        case nil: "missing"
        case .null?: "null"
        case .bool?: "bool"
        case .integer(let integer)?: Int32(exactly: integer) == nil ? "long" : "int"
        case .real?: "double"
        case .string?: "string"
        case .array?: "array"
        case .object?: "object"
        }
    }

    static let isNumber: UnaryFunction = { operand, _, _ in .bool(operand?.number != nil) }

    static func function(to target: Target) -> UnaryFunction {
        { operand, place, _ throws(HoldfastError) in
            guard let operand, operand.kind != .null else { return .null }
            guard let result = convert(operand, to: target) else { throw refusal(of: operand, target, place) }
            return result
        }
    }

    static func refusal(of value: JSONValue, _ target: Target, _ place: ExpressionPlace) -> HoldfastError {
        let shown: String
        switch value {
        // They may hold one value many times, and be too long to be written.
        case .array, .object: shown = value.typeInWords
        default:
            var writer = JSONWriter()
            writer.value(value)
            let text = String(decoding: writer.bytes.prefix(200), as: UTF8.self)
            shown = text.count > 60 ? text.prefix(57) + "..." : text
        }
        return place.refusal(
            "cannot make \(shown), which is of type \"\(name(of: value))\", a value of type \"\(target.rawValue)\": use "
                + "\"$convert\" with \"onError\", or choose with \"$cond\"")
    }

    /// Nil where it cannot be done.
    static func convert(_ value: JSONValue, to target: Target) -> JSONValue? {
        switch target {
        case .string: return text(of: value).map(JSONValue.string)
        case .boolean: return .bool((value as JSONValue?).isTrue)
        case .double:
            switch value {
            case .bool(let flag): return .real(flag ? 1 : 0)
            case .string(let text): return real(text).map(JSONValue.real)
            default: return value.number.map { .real($0.double) }
            }
        case .int, .long:
            guard let integer = integer(value), target == .long || Int32(exactly: integer) != nil else { return nil }
            return .integer(integer)
        }
    }

    /// A fraction is cut off; a string must be a whole number in digits.
    private static func integer(_ value: JSONValue) -> Int64? {
        switch value {
        case .bool(let flag): flag ? 1 : 0
        case .integer(let integer): integer
        case .real(let real): Int64(exactly: real.rounded(.towardZero))
        case .string(let text): Int64(String(decoding: text, as: UTF8.self))
        default: nil
        }
    }

    /// A decimal number; no words as "inf" or "nan", and no hexadecimal digits, which Swift reads as well.
    private static func real(_ text: [UInt8]) -> Double? {
        guard text.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }),
            let real = Double(String(decoding: text, as: UTF8.self)), real.isFinite
        else { return nil }
        return real
    }

    private static func text(of value: JSONValue) -> [UInt8]? {
        switch value {
        case .string(let text): text
        case .bool(let flag): Array((flag ? "true" : "false").utf8)
        default: value.number.map(text(of:))
        }
    }

    /// The shortest that means the number; that of a double which is whole has no fraction.
    static func text(of number: JSONNumber) -> [UInt8] {
        switch number {
        case .integer(let integer): Array(String(integer).utf8)
        case .real(let real):
            Array((real.description.hasSuffix(".0") ? String(real.description.dropLast(2)) : real.description).utf8)
        }
    }
}

/// `$convert`.
final class ConversionWithDefaults: ExpressionNode {
    private let input: any ExpressionNode
    private let target: any ExpressionNode
    private let onError: (any ExpressionNode)?
    private let onNull: (any ExpressionNode)?
    private let place: ExpressionPlace

    private init(
        _ input: any ExpressionNode, _ target: any ExpressionNode, onError: (any ExpressionNode)?,
        onNull: (any ExpressionNode)?, _ place: ExpressionPlace
    ) {
        self.input = input
        self.target = target
        self.onError = onError
        self.onNull = onNull
        self.place = place
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["input", "to"], optional: ["onError", "onNull"], place)
        var (onError, onNull): ((any ExpressionNode)?, (any ExpressionNode)?)
        if let given = members[2] { onError = try compiler.expression(given, below: "onError") }
        if let given = members[3] { onNull = try compiler.expression(given, below: "onNull") }
        return ConversionWithDefaults(
            try compiler.expression(members[0]!, below: "input"), try compiler.expression(members[1]!, below: "to"),
            onError: onError, onNull: onNull, place)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        let value = try input.evaluate(&evaluation)
        guard let type = try type(target.evaluate(&evaluation)) else { return .null }
        guard let value, value.kind != .null else {
            guard let onNull else { return .null }
            return try onNull.evaluate(&evaluation)
        }
        if let result = Conversion.convert(value, to: type) { return result }
        guard let onError else { throw Conversion.refusal(of: value, type, place) }
        return try onError.evaluate(&evaluation)
    }

    /// Nil for null and what is missing.
    private func type(_ value: JSONValue?) throws(HoldfastError) -> Conversion.Target? {
        if value.isNullish { return nil }
        let found = Conversion.Target.allCases.first { target in
            switch value {
            case .string(let name)?: target.rawValue.utf8.elementsEqual(name)
            case let value?: value.number?.whole == target.code
            case nil: false
            }
        }
        guard let found else {
            throw place.refusal(
                "takes for \"to\" one of "
                    + Conversion.Target.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                    + ": name one of them")
        }
        return found
    }
}
