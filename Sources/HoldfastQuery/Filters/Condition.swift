package import HoldfastEnvironment

/// The operators of filters.
package enum Operator: String, CaseIterable, Sendable {
    case equal = "$eq"
    case notEqual = "$ne"
    case greater = "$gt"
    case greaterOrEqual = "$gte"
    case less = "$lt"
    case lessOrEqual = "$lte"
    case `in` = "$in"
    case notIn = "$nin"
    case exists = "$exists"
    case type = "$type"
    case regex = "$regex"
    case options = "$options"
    case all = "$all"
    case elementMatch = "$elemMatch"
    case size = "$size"
    case remainder = "$mod"
    case not = "$not"
    case and = "$and"
    case or = "$or"
    case nor = "$nor"
    case text = "$text"

    package init?(_ name: [UInt8]) { self.init(rawValue: String(decoding: name, as: UTF8.self)) }

    /// Whether it stands beside paths instead of testing a path's values: it joins whole filters, or asks for words.
    package var isLogical: Bool { self == .and || self == .or || self == .nor || self == .text }

    static let logical = allCases.filter(\.isLogical)
    static let ofPaths = allCases.filter { !$0.isLogical }

    // MARK: Errors

    package func refusal(of operand: JSONValue, location: String?, takes allowed: String, what: String) -> HoldfastError
    {
        refusal("takes \(allowed), not \(operand.typeInWords)", location: location, what: what)
    }

    package func refusal(_ reason: String, location: String?, what: String) -> HoldfastError {
        HoldfastError(
            .invalidQuery, "operator \"\(rawValue)\"\(location.map { " at \"\($0)\"" } ?? "") in the \(what) \(reason)",
            detail: Self.detail(rawValue, location: location))
    }

    package static func detail(_ name: String, location: String?) -> [(name: String, value: HoldfastError.DetailValue)]
    {
        [("operator", .text(name))] + (location.map { [("path", .text($0))] } ?? [])
    }
}

/// One operator at a path with its operand, not yet a test: it may wait for parameters.
package struct Condition: Sendable, Equatable {
    package let path: Path
    /// The path as messages name it.
    package let location: String
    package let operation: Operator
    package let operand: JSONValue
    /// The `$options` beside `$regex`.
    package var options: JSONValue?

    /// The test, now that the operand is a literal.
    package func node(what: String) throws(HoldfastError) -> Filter.Node {
        func test(_ test: Filter.Test) -> Filter.Node { .path(path, test) }
        switch operation {
        case .equal: return test(.equal(operand))
        case .notEqual: return .none([test(.equal(operand))])
        case .greater: return test(.greater(operand))
        case .greaterOrEqual: return test(.greaterOrEqual(operand))
        case .less: return test(.less(operand))
        case .lessOrEqual: return test(.lessOrEqual(operand))
        case .in: return test(.in(LiteralSet(try list(what))))
        case .notIn: return .none([test(.in(LiteralSet(try list(what))))])
        case .exists: return try flag(what) ? test(.exists) : .none([test(.exists)])
        case .type: return test(.type(try types(what)))
        case .regex: return test(.regex(try pattern(what)))
        case .size:
            guard let size = operand.exactWholeNumber, let size = Int(exactly: size), size >= 0 else {
                throw refusal(what, takes: "a whole number, 0 or more")
            }
            return test(.size(size))
        case .remainder: return try remainder(what)
        case .all:
            let elements = try list(what)
            guard elements.count <= FilterCompiler.maxConditions else {
                throw operation.refusal(
                    "has \(elements.count) elements; \(FilterCompiler.maxConditions) are allowed", location: location,
                    what: what)
            }
            return elements.isEmpty ? .any([]) : .conjunction(elements.map { test(.equal($0)) })
        case .options, .elementMatch, .not, .and, .or, .nor, .text:
            throw refusal(what, takes: "no parameter")
        }
    }

    private func refusal(_ what: String, takes allowed: String) -> HoldfastError {
        operation.refusal(of: operand, location: location, takes: allowed, what: what)
    }

    private func list(_ what: String) throws(HoldfastError) -> [JSONValue] {
        guard case .array(let elements) = operand else { throw refusal(what, takes: "an array") }
        return elements
    }

    private func flag(_ what: String) throws(HoldfastError) -> Bool {
        guard case .bool(let flag) = operand else { throw refusal(what, takes: "true or false") }
        return flag
    }

    private func types(_ what: String) throws(HoldfastError) -> TypeSet {
        var values = [operand]
        if case .array(let elements) = operand { values = elements }
        var types: TypeSet = []
        for value in values {
            guard let type = TypeSet(value) else {
                let names = TypeSet.names.map { "\"\($0.name)\"" }.joined(separator: ", ")
                throw operation.refusal("takes one or an array of \(names)", location: location, what: what)
            }
            types.formUnion(type)
        }
        guard !types.isEmpty else { throw refusal(what, takes: "at least one type") }
        return types
    }

    private func pattern(_ what: String) throws(HoldfastError) -> Pattern {
        guard case .string(let text) = operand else { throw refusal(what, takes: "a regular expression as a string") }
        var letters: [UInt8] = []
        if let options {
            guard case .string(let text) = options, text.allSatisfy({ "imsx".utf8.contains($0) }) else {
                throw Operator.options.refusal(
                    "takes a string of the letters i, m, s and x", location: location, what: what)
            }
            letters = Set(text).sorted()
        }
        do throws(Pattern.Failure) {
            return try Pattern(text, options: letters)
        } catch {
            switch error {
            case .noMemory: throw HoldfastError(.noMemory, "no memory to compile a regular expression")
            case .invalid(let reason, let position):
                throw operation.refusal(
                    "is no regular expression of PCRE2: \(reason), at byte \(position) of it", location: location,
                    what: what)
            }
        }
    }

    private func remainder(_ what: String) throws(HoldfastError) -> Filter.Node {
        guard case .array(let numbers) = operand, numbers.count == 2, let divisor = numbers[0].wholeNumber,
            let remainder = numbers[1].wholeNumber
        else { throw refusal(what, takes: "an array of two whole numbers, the divisor and the remainder") }
        guard divisor != 0 else {
            throw operation.refusal("cannot divide by 0: give another divisor", location: location, what: what)
        }
        return .path(path, .remainder(divisor: divisor, remainder))
    }
}

extension JSONValue {
    /// The value as a whole number; nil where it is none, or beyond 64 bits.
    fileprivate var exactWholeNumber: Int64? {
        if case .real(let real) = self { return Int64(exactly: real) }
        return wholeNumber
    }

    /// The value as a whole number, its fraction cut off; nil where it is none, or beyond 64 bits.
    fileprivate var wholeNumber: Int64? {
        switch self {
        case .integer(let integer): integer
        case .real(let real): Int64(exactly: real.rounded(.towardZero))
        default: nil
        }
    }
}
