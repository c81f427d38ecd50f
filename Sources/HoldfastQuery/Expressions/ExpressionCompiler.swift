internal import CHoldfastPlatform
internal import HoldfastEnvironment

/// Reads the language of expressions: a parsed JSON value becomes a tree of nodes.
struct ExpressionCompiler {
    /// What the expression stands in, for messages, without an article.
    let what: String
    private let parameters: [[UInt8]: JSONValue]
    private(set) var usedParameters: Set<[UInt8]> = []
    /// The names of the variables that can be read at this point; a variable's index is its slot.
    private var variables: [[UInt8]]
    /// The most variables there are at any point.
    private(set) var slots: Int
    /// How what is being read is reached.
    private var trail: [String]
    private var nesting = 0
    private var deepestNesting = 0

    init(what: String, location: String, variables: [[UInt8]], parameters: [[UInt8]: JSONValue]) {
        self.what = what
        self.parameters = parameters
        self.variables = variables
        slots = variables.count
        trail = location.isEmpty ? [] : [location]
    }

    // MARK: Values

    /// What is nested deeper is read on another stack than the caller's, of which a level would take 2 KiB.
    private static let shallow = 8

    /// A whole expression.
    mutating func compile(_ value: JSONValue) throws(HoldfastError) -> any ExpressionNode {
        var walk = ExtentWalk(left: .max)
        guard try walk.excess(of: value, beyond: Self.shallow) == .depth else { return try expression(value) }
        var reading = Reading(value: value, compiler: self)
        let failure = withUnsafeMutablePointer(to: &reading) { reading in
            hfplatform_on_large_stack({ $0!.assumingMemoryBound(to: Reading.self).pointee.run() }, reading)
        }
        guard failure == 0, let outcome = reading.outcome else {
            throw HoldfastError(.noMemory, "no memory to read an expression of the \(what)")
        }
        self = reading.compiler
        return try outcome.get()
    }

    private struct Reading {
        let value: JSONValue
        var compiler: ExpressionCompiler
        var outcome: Result<any ExpressionNode, HoldfastError>?

        mutating func run() {
            do throws(HoldfastError) { outcome = .success(try compiler.expression(value)) } catch {
                outcome = .failure(error)
            }
        }
    }

    mutating func expression(_ value: JSONValue) throws(HoldfastError) -> any ExpressionNode {
        switch value {
        case .string(let text) where text.first == UInt8(ascii: "$"): return try reference(text)
        case .array(let elements): return try array(elements)
        case .object(let members): return try object(members)
        default: return Constant(value)
        }
    }

    /// The same, one name or index further down.
    mutating func expression(_ value: JSONValue, below name: String) throws(HoldfastError) -> any ExpressionNode {
        trail.append(name)
        let node = try expression(value)
        trail.removeLast()
        return node
    }

    /// The same, with how deep operators, objects and arrays stand in each other there.
    mutating func nestingExpression(
        _ value: JSONValue, below name: String
    ) throws(HoldfastError) -> (node: any ExpressionNode, nesting: Int) {
        let deepestOutside = deepestNesting
        deepestNesting = nesting
        let node = try expression(value, below: name)
        let found = deepestNesting - nesting
        deepestNesting = max(deepestNesting, deepestOutside)
        return (node, found)
    }

    private mutating func array(_ elements: [JSONValue]) throws(HoldfastError) -> any ExpressionNode {
        try nest()
        var nodes: [any ExpressionNode] = []
        for (index, element) in elements.enumerated() { nodes.append(try expression(element, below: String(index))) }
        nesting -= 1
        let constants = nodes.compactMap { ($0 as? Constant)?.value }
        return constants.count == nodes.count ? Constant(.array(constants)) : ArrayOfExpressions(nodes, place(nil))
    }

    private mutating func object(_ members: [JSONValue.Member]) throws(HoldfastError) -> any ExpressionNode {
        if let member = members.first(where: { $0.name.first == UInt8(ascii: "$") }) {
            let name = String(decoding: member.name, as: UTF8.self)
            guard members.count == 1 else {
                throw place(name).refusal(
                    "stands beside other members, and an operator must be an object's only one: give the others an object "
                        + "of their own")
            }
            try nest()
            let node = try operation(name, member)
            nesting -= 1
            return node
        }
        try nest()
        var nodes: [(name: [UInt8], node: any ExpressionNode)] = []
        for member in members {
            let name = String(decoding: member.name, as: UTF8.self)
            guard !member.name.contains(UInt8(ascii: ".")) else {
                throw place(nil).refusal(
                    "has the member \"\(name)\", and a member's name in an expression has no dots: write objects in each "
                        + "other, or use \"$setField\"")
            }
            nodes.append((member.name, try expression(member.value, below: name)))
        }
        nesting -= 1
        let constants = nodes.compactMap { node in
            (node.node as? Constant)?.value.map { JSONValue.Member(name: node.name, value: $0) }
        }
        return constants.count == nodes.count ? Constant(.object(constants)) : ObjectOfExpressions(nodes, place(nil))
    }

    // MARK: Paths and variables

    /// `$path` or `$$variable.path`.
    private func reference(_ text: [UInt8]) throws(HoldfastError) -> any ExpressionNode {
        let shown = String(decoding: text, as: UTF8.self)
        let isVariable = text.dropFirst().first == UInt8(ascii: "$")
        var names = text.dropFirst(isVariable ? 2 : 1)
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
        guard names.count <= Path.maxParts else {
            throw place(nil).refusal(
                "has a path of \(names.count) parts, and \(Path.maxParts) are allowed: name a shorter one")
        }
        guard names.allSatisfy({ !$0.isEmpty && $0.first != UInt8(ascii: "$") }) else {
            throw place(nil).refusal(
                "has \"\(shown)\", which is no path: write \"$name\" or \"$name.name\", or {\"$literal\": \"\(shown)\"} for "
                    + "the text itself")
        }
        guard isVariable else { return PathOfDocument(names, place(nil)) }
        let name = names.removeFirst()
        switch String(decoding: name, as: UTF8.self) {
        case "ROOT", "CURRENT": return PathOfDocument(names, place(nil))
        case "REMOVE":
            guard names.isEmpty else { throw unknownVariable(shown) }
            return Constant(nil)
        default:
            guard let slot = variables.lastIndex(of: name) else { throw unknownVariable(shown) }
            return PathOfVariable(slot: slot, names: names, place(nil))
        }
    }

    private func unknownVariable(_ shown: String) -> HoldfastError {
        let known = ["ROOT", "CURRENT", "REMOVE"] + variables.map { String(decoding: $0, as: UTF8.self) }
        let name = Array(shown.utf8.dropFirst(2).prefix { $0 != UInt8(ascii: ".") })
        if name.elementsEqual("NOW".utf8) {
            return place(nil).refusal(
                "has \"$$NOW\", which it does not know, so that a query answers the same at all times: give the time as a "
                    + "parameter")
        }
        let cure =
            Spelling.nearest(to: name, among: known).map { "did you mean \"$$\($0)\"?" }
            ?? "known are " + known.map { "\"$$\($0)\"" }.joined(separator: ", ")
        return place(nil).refusal("has the unknown variable \"\(shown)\"; \(cure)")
    }

    /// Reads with variables besides. Their slots are those from the answered one on.
    mutating func with(
        variables names: [[UInt8]], _ body: (inout ExpressionCompiler) throws(HoldfastError) -> any ExpressionNode
    ) throws(HoldfastError) -> any ExpressionNode {
        variables += names
        slots = max(slots, variables.count)
        let node = try body(&self)
        variables.removeLast(names.count)
        return node
    }

    /// The slot of the next variable.
    var nextSlot: Int { variables.count }

    /// Keeps a slot for a variable that has its value already and cannot be read yet, while the values of others are read.
    mutating func takeSlot() {
        variables.append([])
        slots = max(slots, variables.count)
    }

    mutating func giveBackSlots(_ count: Int) { variables.removeLast(count) }

    /// The name that a variable is given, which is that of a member of `$let` or the value of `as`.
    func variableName(_ name: [UInt8], _ place: ExpressionPlace) throws(HoldfastError) -> [UInt8] {
        let isAllowed = name.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...: true
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                index > 0
            default: false
            }
        }
        guard isAllowed, !name.isEmpty else {
            throw place.refusal(
                "names a variable \"\(String(decoding: name, as: UTF8.self))\", and such a name begins with a small letter and "
                    + "goes on with letters, digits and \"_\": rename it")
        }
        return name
    }

    // MARK: Operators

    private mutating func operation(
        _ name: String, _ member: JSONValue.Member
    ) throws(HoldfastError) -> any ExpressionNode {
        let place = place(name)
        switch name {
        case "$literal": return Constant(member.value)
        case "$param": return try parameter(member.value, place)
        default: break
        }
        guard let form = ExpressionForm.all[name] else { throw unknownOperator(member.name) }
        trail.append(name)
        let node = try operation(form, member.value, place)
        trail.removeLast()
        return node
    }

    private mutating func operation(
        _ form: ExpressionForm, _ value: JSONValue, _ place: ExpressionPlace
    ) throws(HoldfastError) -> any ExpressionNode {
        switch form {
        case .unary(let function):
            return Unary(try operands(value, 1...1, place)[0], function, place)
        case .binary(let function):
            let operands = try operands(value, 2...2, place)
            return Binary(operands[0], operands[1], function, place)
        case .list(let counts, let function): return Variadic(try operands(value, counts, place), function, place)
        case .named(let required, let optional, let function):
            let given = try members(value, required: required, optional: optional, place)
            var nodes: [(any ExpressionNode)?] = []
            for (name, value) in zip(required + optional, given) {
                guard let value else {
                    nodes.append(nil)
                    continue
                }
                nodes.append(IfMissing(try expression(value, below: name)))
            }
            return Variadic(nodes, function, place)
        case .special(let compile): return try compile(&self, value, place)
        }
    }

    /// The operands of an operator: the elements of an array, or one that is no array.
    mutating func operands(
        _ value: JSONValue, _ counts: ClosedRange<Int>, _ place: ExpressionPlace
    ) throws(HoldfastError) -> [any ExpressionNode] {
        guard case .array(let elements) = value else {
            guard counts.contains(1) else { throw place.wrongCount(1, counts) }
            return [try expression(value)]
        }
        guard counts.contains(elements.count) else { throw place.wrongCount(elements.count, counts) }
        var nodes: [any ExpressionNode] = []
        for (index, element) in elements.enumerated() { nodes.append(try expression(element, below: String(index))) }
        return nodes
    }

    /// The values of operands by name, first the required ones; nil for those that are left out.
    func members(
        _ value: JSONValue, required: [String], optional: [String] = [], _ place: ExpressionPlace
    ) throws(HoldfastError) -> [JSONValue?] {
        let known = required + optional
        let names = known.map { "\"\($0)\"" }.joined(separator: ", ")
        guard case .object(let members) = value else {
            throw place.refusal("takes an object with \(names), not \(value.typeInWords)")
        }
        if let stranger = members.first(where: { member in !known.contains { $0.utf8.elementsEqual(member.name) } }) {
            let shown = String(decoding: stranger.name, as: UTF8.self)
            let cure =
                Spelling.nearest(to: stranger.name, among: known).map { "did you mean \"\($0)\"?" }
                ?? "it takes \(names)"
            throw place.refusal("has the unknown member \"\(shown)\"; \(cure)")
        }
        let values = known.map { name in members.first { $0.name.elementsEqual(name.utf8) }?.value }
        for (name, value) in zip(required, values) where value == nil {
            throw place.refusal("has no \"\(name)\": give it one")
        }
        return values
    }

    private mutating func parameter(
        _ value: JSONValue, _ place: ExpressionPlace
    ) throws(HoldfastError) -> any ExpressionNode {
        guard case .string(let name) = value else { throw place.needsLiteral("a parameter's name", not: value) }
        guard let given = parameters[name] else {
            throw place.refusal(
                "names the parameter \"\(String(decoding: name, as: UTF8.self))\", which has no value: give it one")
        }
        usedParameters.insert(name)
        return Constant(given)
    }

    private mutating func nest() throws(HoldfastError) {
        nesting += 1
        deepestNesting = max(deepestNesting, nesting)
        guard nesting <= Expression.maxNesting else {
            throw place(nil).refusal(
                "has operators, objects and arrays more than \(Expression.maxNesting) deep in each other: use \"$switch\" "
                    + "for a chain of \"$cond\", or another stage for a part of it")
        }
    }

    // MARK: Messages

    /// Where the trail leads.
    func place(_ name: String?) -> ExpressionPlace {
        ExpressionPlace(name: name, location: trail.joined(separator: "."), what: what)
    }

    private func unknownOperator(_ name: [UInt8]) -> HoldfastError {
        let names = ExpressionForm.all.keys.sorted() + ["$literal", "$param"]
        let cure =
            Spelling.nearest(to: name, among: names).map { "did you mean \"\($0)\"?" }
            ?? "supported are " + names.map { "\"\($0)\"" }.joined(separator: ", ")
        var error = place(String(decoding: name, as: UTF8.self)).refusal("is unknown; \(cure)")
        error.detail.append(("supported", .texts(names)))
        return error
    }
}

extension ExpressionPlace {
    /// For a value that must be written as it is, and be no expression.
    func needsLiteral(_ needed: String, not value: JSONValue) -> HoldfastError {
        refusal("takes \(needed), not \(value.typeInWords)")
    }

    fileprivate func wrongCount(_ count: Int, _ counts: ClosedRange<Int>) -> HoldfastError {
        let allowed =
            counts.upperBound == .max
            ? "at least \(counts.lowerBound)"
            : counts.count == 1 ? "\(counts.lowerBound)" : "\(counts.lowerBound) to \(counts.upperBound)"
        return refusal(
            "takes \(allowed) operand\(allowed == "1" ? "" : "s"), not \(count): give them as an array, and an array that is "
                + "an operand itself as an array in it")
    }
}
