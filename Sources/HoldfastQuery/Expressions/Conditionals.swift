internal import HoldfastEnvironment

/// `$and` and `$or`, which evaluate no more operands than they need.
final class Junction: ExpressionNode {
    private let operands: [any ExpressionNode]
    /// What an operand must be to end it.
    private let deciding: Bool

    private init(_ operands: [any ExpressionNode], deciding: Bool) {
        self.operands = operands
        self.deciding = deciding
    }

    static let compileAnd: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        Junction(try compiler.operands(value, 0...Int.max, place), deciding: false)
    }

    static let compileOr: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        Junction(try compiler.operands(value, 0...Int.max, place), deciding: true)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        for operand in operands where try operand.evaluate(&evaluation).isTrue == deciding { return .bool(deciding) }
        return .bool(!deciding)
    }
}

/// `$cond` and `$switch`: the result beside the first condition that holds.
final class Choice: ExpressionNode {
    private typealias Branch = (condition: any ExpressionNode, result: any ExpressionNode)

    private let branches: [Branch]
    private let otherwise: (any ExpressionNode)?
    private let place: ExpressionPlace

    private init(_ branches: [Branch], otherwise: (any ExpressionNode)?, _ place: ExpressionPlace) {
        self.branches = branches
        self.otherwise = otherwise
        self.place = place
    }

    static let compileCondition: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let operands: [any ExpressionNode]
        if case .object = value {
            let members = try compiler.members(value, required: ["if", "then", "else"], place)
            operands = [
                try compiler.expression(members[0]!, below: "if"),
                try compiler.expression(members[1]!, below: "then"),
                try compiler.expression(members[2]!, below: "else"),
            ]
        } else {
            operands = try compiler.operands(value, 3...3, place)
        }
        return Choice([(operands[0], operands[1])], otherwise: operands[2], place)
    }

    static let compileSwitch: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["branches"], optional: ["default"], place)
        guard case .array(let elements)? = members[0], !elements.isEmpty else {
            throw place.refusal("takes an array of at least one {\"case\": ..., \"then\": ...} for \"branches\"")
        }
        var branches: [Branch] = []
        for (index, element) in elements.enumerated() {
            let parts = try compiler.members(element, required: ["case", "then"], place)
            branches.append(
                (
                    try compiler.expression(parts[0]!, below: "branches.\(index).case"),
                    try compiler.expression(parts[1]!, below: "branches.\(index).then")
                ))
        }
        var otherwise: (any ExpressionNode)?
        if let given = members[1] { otherwise = try compiler.expression(given, below: "default") }
        return Choice(branches, otherwise: otherwise, place)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        for branch in branches where try branch.condition.evaluate(&evaluation).isTrue {
            return try branch.result.evaluate(&evaluation)
        }
        guard let otherwise else {
            throw place.refusal("has no branch whose condition holds, and no \"default\": give it one")
        }
        return try otherwise.evaluate(&evaluation)
    }
}

/// `$ifNull`: the first operand that is neither null nor missing, or the last one.
final class IfNull: ExpressionNode {
    private let operands: [any ExpressionNode]

    private init(_ operands: [any ExpressionNode]) { self.operands = operands }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        IfNull(try compiler.operands(value, 2...Int.max, place))
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        var value: JSONValue?
        for operand in operands {
            value = try operand.evaluate(&evaluation)
            if !value.isNullish { break }
        }
        return value
    }
}

/// `$let`.
final class Let: ExpressionNode {
    private let firstSlot: Int
    private let values: [any ExpressionNode]
    private let result: any ExpressionNode

    private init(firstSlot: Int, _ values: [any ExpressionNode], _ result: any ExpressionNode) {
        self.firstSlot = firstSlot
        self.values = values
        self.result = result
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["vars", "in"], place)
        guard case .object(let variables)? = members[0] else {
            throw place.refusal("takes an object of variables for \"vars\", not \(members[0]!.typeInWords)")
        }
        var names: [[UInt8]] = []
        var values: [any ExpressionNode] = []
        for variable in variables {
            names.append(try compiler.variableName(variable.name, place))
            values.append(
                try compiler.expression(
                    variable.value, below: "vars.\(String(decoding: variable.name, as: UTF8.self))"))
            compiler.takeSlot()
        }
        compiler.giveBackSlots(names.count)
        let slot = compiler.nextSlot
        return try compiler.with(variables: names) { compiler throws(HoldfastError) in
            Let(firstSlot: slot, values, try compiler.expression(members[1]!, below: "in"))
        }
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        for (index, value) in values.enumerated() {
            evaluation.variables[firstSlot + index] = try value.evaluate(&evaluation)
        }
        return try result.evaluate(&evaluation)
    }
}
