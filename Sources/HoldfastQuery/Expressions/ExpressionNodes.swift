internal import HoldfastEnvironment

/// A value that does not depend on the document; nil for `$$REMOVE`.
final class Constant: ExpressionNode {
    let value: JSONValue?

    init(_ value: JSONValue?) { self.value = value }

    func evaluate(_ evaluation: inout Evaluation) -> JSONValue? { value }
}

/// A path into the document, of which all names are those of members: an expression picks no elements by index. From an
/// array the path goes on in each element that is an object, and leads to the array of what is found.
final class PathOfDocument: ExpressionNode {
    let names: [[UInt8]]
    private let place: ExpressionPlace

    /// Without names, the document itself.
    init(_ names: [[UInt8]], _ place: ExpressionPlace) {
        self.names = names
        self.place = place
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        try evaluation.value(at: names[...], in: evaluation.document, place)
    }

    func find(in document: JSONValue) -> JSONValue? { document.value(at: names[...]) }
}

/// A variable, or a path into its value.
final class PathOfVariable: ExpressionNode {
    private let slot: Int
    private let names: [[UInt8]]
    private let place: ExpressionPlace

    init(slot: Int, names: [[UInt8]], _ place: ExpressionPlace) {
        self.slot = slot
        self.names = names
        self.place = place
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        guard let value = evaluation.variables[slot], !names.isEmpty else { return evaluation.variables[slot] }
        return try evaluation.value(at: names[...], in: value, place)
    }
}

extension Evaluation {
    /// What a path leads to, as `JSONValue.value(at:)` finds it, where loops may go the same way again and again: the arrays that
    /// it goes through, and those that it makes, are spent.
    mutating func value(
        at names: ArraySlice<[UInt8]>, in value: JSONValue, _ place: ExpressionPlace
    ) throws(HoldfastError) -> JSONValue? {
        var value = value
        for (index, name) in zip(names.indices, names) {
            switch value {
            case .object(let members):
                guard let member = members.first(where: { $0.name == name }) else { return nil }
                value = member.value
            case .array(let elements):
                try spend(elements: elements.count, place)
                var found: [JSONValue] = []
                for case .object(let members) in elements {
                    guard let value = try self.value(at: names[index...], in: .object(members), place) else { continue }
                    found.append(value)
                }
                return .array(found)
            default: return nil
            }
        }
        return value
    }
}

extension JSONValue {
    /// What a path leads to. Recurses once for each array on the way, and so no deeper than the path is long.
    package func value(at names: ArraySlice<[UInt8]>) -> JSONValue? {
        var value = self
        for (index, name) in zip(names.indices, names) {
            switch value {
            case .object(let members):
                guard let member = members.first(where: { $0.name == name }) else { return nil }
                value = member.value
            case .array(let elements):
                return .array(
                    elements.compactMap { element in
                        guard case .object = element else { return nil }
                        return element.value(at: names[index...])
                    })
            default: return nil
            }
        }
        return value
    }
}

/// An object of expressions. What is missing has no member.
final class ObjectOfExpressions: ExpressionNode {
    private let members: [(name: [UInt8], node: any ExpressionNode)]
    private let place: ExpressionPlace

    init(_ members: [(name: [UInt8], node: any ExpressionNode)], _ place: ExpressionPlace) {
        self.members = members
        self.place = place
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        try evaluation.spend(elements: 2 * members.count, place)
        var result: [JSONValue.Member] = []
        result.reserveCapacity(members.count)
        for member in members {
            guard let value = try member.node.evaluate(&evaluation) else { continue }
            result.append(JSONValue.Member(name: member.name, value: value))
        }
        return .object(result)
    }
}

/// An array of expressions. What is missing becomes null.
final class ArrayOfExpressions: ExpressionNode {
    private let elements: [any ExpressionNode]
    private let place: ExpressionPlace

    init(_ elements: [any ExpressionNode], _ place: ExpressionPlace) {
        self.elements = elements
        self.place = place
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        try evaluation.spend(elements: elements.count, place)
        var result: [JSONValue] = []
        result.reserveCapacity(elements.count)
        for element in elements { result.append(try element.evaluate(&evaluation) ?? .null) }
        return .array(result)
    }
}

/// Null where an expression is missing: an operand that was given and is missing is not one that was left out.
final class IfMissing: ExpressionNode {
    private let node: any ExpressionNode

    init(_ node: any ExpressionNode) { self.node = node }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        try node.evaluate(&evaluation) ?? .null
    }
}

// MARK: Operators whose operands are all evaluated first

/// An operator of one operand.
typealias UnaryFunction =
    @Sendable (JSONValue?, ExpressionPlace, inout Evaluation) throws(HoldfastError) -> JSONValue?

final class Unary: ExpressionNode {
    private let operand: any ExpressionNode
    private let function: UnaryFunction
    private let place: ExpressionPlace

    init(_ operand: any ExpressionNode, _ function: @escaping UnaryFunction, _ place: ExpressionPlace) {
        self.operand = operand
        self.function = function
        self.place = place
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        try function(operand.evaluate(&evaluation), place, &evaluation)
    }
}

/// An operator of two operands.
typealias BinaryFunction =
    @Sendable (JSONValue?, JSONValue?, ExpressionPlace, inout Evaluation) throws(HoldfastError) -> JSONValue?

final class Binary: ExpressionNode {
    private let left: any ExpressionNode
    private let right: any ExpressionNode
    private let function: BinaryFunction
    private let place: ExpressionPlace

    init(
        _ left: any ExpressionNode, _ right: any ExpressionNode, _ function: @escaping BinaryFunction,
        _ place: ExpressionPlace
    ) {
        self.left = left
        self.right = right
        self.function = function
        self.place = place
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        try function(left.evaluate(&evaluation), right.evaluate(&evaluation), place, &evaluation)
    }
}

/// An operator of any number of operands, or of operands by name.
typealias ListFunction =
    @Sendable ([JSONValue?], ExpressionPlace, inout Evaluation) throws(HoldfastError) -> JSONValue?

final class Variadic: ExpressionNode {
    /// Nil where an operand that may be left out is.
    private let operands: [(any ExpressionNode)?]
    private let function: ListFunction
    private let place: ExpressionPlace

    init(_ operands: [(any ExpressionNode)?], _ function: @escaping ListFunction, _ place: ExpressionPlace) {
        self.operands = operands
        self.function = function
        self.place = place
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        try function(values(&evaluation), place, &evaluation)
    }

    /// A function of its own, so that what it holds takes no stack while the operator works.
    @inline(never)
    private func values(_ evaluation: inout Evaluation) throws(HoldfastError) -> [JSONValue?] {
        var values: [JSONValue?] = []
        values.reserveCapacity(operands.count)
        for operand in operands { values.append(try operand?.evaluate(&evaluation)) }
        return values
    }
}
