internal import HoldfastEnvironment

/// `$map`: what an expression makes of each element.
final class ArrayMap: ExpressionNode {
    private let input: any ExpressionNode
    private let slot: Int
    private let result: any ExpressionNode
    private let place: ExpressionPlace

    private init(_ input: any ExpressionNode, _ slot: Int, _ result: any ExpressionNode, _ place: ExpressionPlace) {
        self.input = input
        self.slot = slot
        self.result = result
        self.place = place
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["input", "in"], optional: ["as"], place)
        let input = try compiler.expression(members[0]!, below: "input")
        let name = try compiler.elementName(members[2], place)
        let slot = compiler.nextSlot
        return try compiler.with(variables: [name]) { compiler throws(HoldfastError) in
            ArrayMap(input, slot, try compiler.expression(members[1]!, below: "in"), place)
        }
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        guard let elements = try place.arrayOrNull(input.evaluate(&evaluation)) else { return .null }
        try evaluation.spend(elements: elements.count, place)
        var results: [JSONValue] = []
        results.reserveCapacity(elements.count)
        for element in elements {
            try evaluation.look()
            evaluation.variables[slot] = element
            results.append(try result.evaluate(&evaluation) ?? .null)
        }
        return .array(results)
    }
}

extension ExpressionCompiler {
    /// The variable that stands for each element.
    fileprivate func elementName(_ value: JSONValue?, _ place: ExpressionPlace) throws(HoldfastError) -> [UInt8] {
        guard let value else { return Array("this".utf8) }
        guard case .string(let name) = value else {
            throw place.needsLiteral("a variable's name for \"as\"", not: value)
        }
        return try variableName(name, place)
    }
}

/// `$filter`: the elements for which a condition holds.
final class ArrayFilter: ExpressionNode {
    private let input: any ExpressionNode
    private let slot: Int
    private let condition: any ExpressionNode
    private let limit: (any ExpressionNode)?
    private let place: ExpressionPlace

    private init(
        _ input: any ExpressionNode, _ slot: Int, _ condition: any ExpressionNode, _ limit: (any ExpressionNode)?,
        _ place: ExpressionPlace
    ) {
        self.input = input
        self.slot = slot
        self.condition = condition
        self.limit = limit
        self.place = place
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["input", "cond"], optional: ["as", "limit"], place)
        let input = try compiler.expression(members[0]!, below: "input")
        var limit: (any ExpressionNode)?
        if let given = members[3] { limit = try compiler.expression(given, below: "limit") }
        let name = try compiler.elementName(members[2], place)
        let slot = compiler.nextSlot
        return try compiler.with(variables: [name]) { compiler throws(HoldfastError) in
            ArrayFilter(input, slot, try compiler.expression(members[1]!, below: "cond"), limit, place)
        }
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        guard let elements = try place.arrayOrNull(input.evaluate(&evaluation)) else { return .null }
        let most = try mostResults(&evaluation)
        try evaluation.spend(elements: elements.count, place)
        var results: [JSONValue] = []
        for element in elements {
            try evaluation.look()
            evaluation.variables[slot] = element
            guard try condition.evaluate(&evaluation).isTrue else { continue }
            results.append(element)
            if results.count == most { break }
        }
        return .array(results)
    }

    @inline(never)
    private func mostResults(_ evaluation: inout Evaluation) throws(HoldfastError) -> Int {
        guard let value = try limit?.evaluate(&evaluation), value.kind != .null else { return .max }
        let most = try place.whole(value, "\"limit\"")
        guard most > 0 else {
            throw place.refusal("takes a \"limit\" above 0, not \(most): give another, or leave it out")
        }
        return Int(clamping: most)
    }
}

/// `$reduce`: what an expression makes of all elements, one after the other.
final class ArrayReduction: ExpressionNode {
    private let input: any ExpressionNode
    private let initial: any ExpressionNode
    /// Of `$$value`; that of `$$this` follows.
    private let slot: Int
    private let next: any ExpressionNode
    private let place: ExpressionPlace

    private init(
        _ input: any ExpressionNode, _ initial: any ExpressionNode, _ slot: Int, _ next: any ExpressionNode,
        growth: Int,
        _ place: ExpressionPlace
    ) {
        self.input = input
        self.initial = initial
        self.slot = slot
        self.next = next
        self.growth = growth
        self.place = place
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["input", "initialValue", "in"], place)
        let input = try compiler.expression(members[0]!, below: "input")
        let initial = try compiler.expression(members[1]!, below: "initialValue")
        let slot = compiler.nextSlot
        let names = [Array("value".utf8), Array("this".utf8)]
        return try compiler.with(variables: names) { compiler throws(HoldfastError) in
            let (next, nesting) = try compiler.nestingExpression(members[2]!, below: "in")
            return ArrayReduction(input, initial, slot, next, growth: 2 * nesting, place)
        }
    }

    /// By how much a pass makes the value deeper at most: an operator puts nothing deeper than two levels below its result.
    private let growth: Int
    /// The value's depth is looked at when it may have grown by so much: were that after each pass, the time would grow with
    /// the square.
    private static let growthBetweenLooks = 50

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        guard let elements = try place.arrayOrNull(input.evaluate(&evaluation)) else { return .null }
        var value = try initial.evaluate(&evaluation)
        try evaluation.spend(elements: elements.count, place)
        // What those around it have not looked at yet may be within its value.
        let before = evaluation.growth
        for element in elements {
            try evaluation.look()
            evaluation.variables[slot] = value
            evaluation.variables[slot + 1] = element
            value = try next.evaluate(&evaluation)
            evaluation.growth += growth
            if evaluation.growth > Self.growthBetweenLooks { try look(value, since: before, &evaluation) }
        }
        // A pass of the one around it makes its value no deeper than its own operators do.
        if evaluation.growth > before { try look(value, since: before, &evaluation) }
        return value
    }

    private func look(
        _ value: JSONValue?, since before: Int, _ evaluation: inout Evaluation
    ) throws(HoldfastError) {
        if let value { try evaluation.spend(walking: value, place) }
        evaluation.growth = before
    }
}
