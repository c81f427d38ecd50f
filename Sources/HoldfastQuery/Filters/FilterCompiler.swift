internal import HoldfastEnvironment

/// Reads the language of filters: a parsed JSON object becomes a tree of conditions.
struct FilterCompiler {
    /// Bounds the time of matching. Lists of `$in` may be of any length.
    static let maxConditions = 1000
    /// Bounds the stack: reading a filter, binding it and matching recurse as deep as its operators stand in each other.
    static let maxNesting = 32

    /// The filter in messages, without an article.
    let what: String
    /// The names of the parameters that occur.
    private(set) var parameters: Set<[UInt8]> = []
    /// How the value that is being read is reached from the filter's top, so that an error can tell its position.
    private(set) var trail: [Step] = []
    /// Whether an error means the name of the trail's last member, not its value.
    private(set) var meansName = false
    private(set) var asksForText = false
    /// What `$text` may not stand in, where that is what is being read.
    private var closedToText: Operator?
    private var conditionCount = 0
    private var nesting = 0

    enum Step {
        case member([UInt8])
        case element(Int)
    }

    /// `trail` leads to what is read where that is a part of something larger.
    init(what: String, trail: [Step] = []) {
        self.what = what
        self.trail = trail
    }

    /// Reads a whole filter.
    mutating func template(_ value: JSONValue) throws(HoldfastError) -> FilterTemplate {
        let root = try document(value)
        return FilterTemplate(
            root: root, parameters: parameters, asksForText: asksForText, source: value, what: what)
    }

    // MARK: Objects of conditions

    /// An object of paths and logical operators, which must all hold.
    mutating func document(_ value: JSONValue) throws(HoldfastError) -> Filter.Node {
        guard case .object(let members) = value else {
            throw HoldfastError(.invalidQuery, "the \(what) must be a JSON object, not \(value.typeInWords)")
        }
        var nodes: [Filter.Node] = []
        for member in members {
            trail.append(.member(member.name))
            nodes.append(
                member.name.first == UInt8(ascii: "$")
                    ? try logical(member) : try condition(member.value, at: Path(member.name, what: what)))
            trail.removeLast()
        }
        return .conjunction(nodes)
    }

    private mutating func logical(_ member: JSONValue.Member) throws(HoldfastError) -> Filter.Node {
        let operation = Operator(member.name)
        guard let operation, operation.isLogical else {
            meansName = true
            guard let operation else {
                guard !member.name.elementsEqual("$expr".utf8) || what != PipelineReader.what else {
                    throw HoldfastError(
                        .invalidQuery,
                        "operator \"$expr\" stands at the top level of a \"$match\" only: write it there, or join "
                            + "expressions by \"$and\", \"$or\" and \"$not\" in it",
                        detail: Operator.detail("$expr", location: nil))
                }
                throw unknown(member.name, location: nil, among: Operator.logical)
            }
            throw refusal(
                operation, location: nil,
                "must stand below a path, as {\"path\": {\"\(operation.rawValue)\": ...}}, not at the top level of")
        }
        if operation == .text { return try text(member.value) }
        guard case .array(let elements) = member.value, !elements.isEmpty else {
            throw operation.refusal(
                of: member.value, location: nil, takes: "an array of at least one filter", what: what)
        }
        try nest()
        defer { nesting -= 1 }
        let outer = closedToText
        if operation == .nor { closedToText = .nor }
        defer { closedToText = outer }
        var nodes: [Filter.Node] = []
        for (index, element) in elements.enumerated() {
            trail.append(.element(index))
            guard case .object = element else {
                throw operation.refusal(of: element, location: nil, takes: "filters, each a JSON object", what: what)
            }
            nodes.append(try document(element))
            trail.removeLast()
        }
        try count(1)
        switch operation {
        case .and: return .conjunction(nodes)
        case .or: return nodes.count == 1 ? nodes[0] : .any(nodes)
        default: return .none(nodes)
        }
    }

    /// The whole entity is asked for words, by the one text index that a repository may have.
    private mutating func text(_ value: JSONValue) throws(HoldfastError) -> Filter.Node {
        if let closedToText {
            throw Operator.text.refusal(
                "cannot stand in \"\(closedToText.rawValue)\": leave words out with \"-\" before them", location: nil,
                what: what)
        }
        guard !asksForText else {
            throw Operator.text.refusal(
                "stands there twice: put all words into one \"$search\"", location: nil, what: what)
        }
        asksForText = true
        let condition = Condition(path: .itself, location: "$text", operation: .text, operand: value)
        try condition.checkText(what: what)
        try count(1)
        condition.collectParameters(&parameters)
        return .unbound(condition)
    }

    // MARK: Conditions of a path

    private mutating func condition(_ value: JSONValue, at path: Path) throws(HoldfastError) -> Filter.Node {
        if let members = operators(of: value) { return try tests(members, at: path, location: path.text) }
        return try leaf(Condition(path: path, location: path.text, operation: .equal, operand: value))
    }

    /// The operators that the value consists of; nil where it is a literal. An object whose names mix both
    /// is refused later: whatever it was meant to be, it would match something else.
    private func operators(of value: JSONValue) -> [JSONValue.Member]? {
        guard case .object(let members) = value, value.parameterName == nil,
            members.contains(where: { $0.name.first == UInt8(ascii: "$") })
        else { return nil }
        return members
    }

    /// An object of operators, which must all hold.
    private mutating func tests(
        _ members: [JSONValue.Member], at path: Path, location: String
    ) throws(HoldfastError) -> Filter.Node {
        var nodes: [Filter.Node] = []
        for member in members {
            trail.append(.member(member.name))
            guard let operation = Operator(member.name), !operation.isLogical else {
                meansName = true
                guard let operation = Operator(member.name) else {
                    throw unknown(member.name, location: location, among: Operator.ofPaths)
                }
                let form = operation == .text ? "{\"$search\": ...}" : "[{...}, ...]"
                throw refusal(
                    operation, location: location,
                    "must stand beside paths, as {\"\(operation.rawValue)\": \(form)}, not below one, in")
            }
            switch operation {
            case .not: nodes.append(.none([try negated(member.value, at: path, location: location)]))
            case .all: nodes.append(try all(member.value, at: path, location: location))
            case .elementMatch: nodes.append(try elementMatch(member.value, at: path, location: location))
            case .options:
                guard members.contains(where: { Operator($0.name) == .regex }) else {
                    throw operation.refusal("stands beside \"$regex\" alone", location: location, what: what)
                }
            case .regex:
                let options = members.first { Operator($0.name) == .options }?.value
                nodes.append(
                    try leaf(
                        Condition(
                            path: path, location: location, operation: .regex, operand: member.value, options: options))
                )
            default:
                if operation == .in || operation == .notIn {
                    try refuseOperators(in: member.value, operation, location)
                }
                nodes.append(
                    try leaf(Condition(path: path, location: location, operation: operation, operand: member.value)))
            }
            trail.removeLast()
        }
        return .conjunction(nodes)
    }

    private mutating func negated(
        _ value: JSONValue, at path: Path, location: String
    ) throws(HoldfastError) -> Filter.Node {
        guard let members = operators(of: value) else {
            throw Operator.not.refusal(of: value, location: location, takes: "an object of operators", what: what)
        }
        try nest()
        defer { nesting -= 1 }
        return try tests(members, at: path, location: location)
    }

    /// `$all` with literals, or with nothing but `$elemMatch`, which each some element must satisfy.
    private mutating func all(
        _ value: JSONValue, at path: Path, location: String
    ) throws(HoldfastError) -> Filter.Node {
        guard case .array(let elements) = value else {
            return try leaf(Condition(path: path, location: location, operation: .all, operand: value))
        }
        var nodes: [Filter.Node] = []
        let isOfOperators = elements.first.map { operators(of: $0) != nil } ?? false
        for (index, element) in elements.enumerated() {
            trail.append(.element(index))
            let members = operators(of: element)
            guard (members != nil) == isOfOperators else {
                throw Operator.all.refusal(
                    "takes either literals or {\"$elemMatch\": {...}}, not both: join two conditions with \"$and\"",
                    location: location, what: what)
            }
            if let members {
                guard members.count == 1, Operator(members[0].name) == .elementMatch else {
                    throw Operator.all.refusal(
                        "takes literals, or only {\"$elemMatch\": {...}}", location: location, what: what)
                }
                trail.append(.member(members[0].name))
                nodes.append(try elementMatch(members[0].value, at: path, location: location))
                trail.removeLast()
            } else {
                nodes.append(try leaf(Condition(path: path, location: location, operation: .equal, operand: element)))
            }
            trail.removeLast()
        }
        return nodes.isEmpty ? .any([]) : .conjunction(nodes)
    }

    private mutating func elementMatch(
        _ value: JSONValue, at path: Path, location: String
    ) throws(HoldfastError) -> Filter.Node {
        guard case .object(let members) = value, value.parameterName == nil else {
            throw Operator.elementMatch.refusal(
                of: value, location: location, takes: "an object of operators or of paths", what: what)
        }
        try count(1)
        try nest()
        defer { nesting -= 1 }
        if let first = members.first, first.name.first == UInt8(ascii: "$"), Operator(first.name)?.isLogical != true {
            return .path(path, .elementValue(try tests(members, at: .itself, location: location)))
        }
        let outer = closedToText
        closedToText = .elementMatch
        defer { closedToText = outer }
        return .path(path, .elementObject(try document(value)))
    }

    /// In a list of literals an operator would be one, and match nothing that was meant.
    private mutating func refuseOperators(
        in value: JSONValue, _ operation: Operator, _ location: String
    ) throws(HoldfastError) {
        guard case .array(let elements) = value else { return }
        for (index, element) in elements.enumerated() where operators(of: element) != nil {
            trail.append(.element(index))
            throw operation.refusal(
                "takes literals, not operators: join conditions with \"$or\"", location: location, what: what)
        }
    }

    private mutating func leaf(_ condition: Condition) throws(HoldfastError) -> Filter.Node {
        try count(1)
        var names: Set<[UInt8]> = []
        condition.collectParameters(&names)
        if names.isEmpty { return try condition.node(what: what) }
        parameters.formUnion(names)
        return .unbound(condition)
    }

    private mutating func count(_ added: Int) throws(HoldfastError) {
        conditionCount += added
        guard conditionCount <= Self.maxConditions else {
            throw HoldfastError(
                .invalidQuery,
                "the \(what) has more than \(Self.maxConditions) conditions: ask for many values with \"$in\"")
        }
    }

    private mutating func nest() throws(HoldfastError) {
        nesting += 1
        guard nesting <= Self.maxNesting else {
            throw HoldfastError(
                .invalidQuery,
                "the \(what) has operators more than \(Self.maxNesting) deep in each other: list conditions side by side"
            )
        }
    }

    // MARK: Errors

    private func unknown(_ name: [UInt8], location: String?, among operators: [Operator]) -> HoldfastError {
        let shown = String(decoding: name, as: UTF8.self)
        var names = operators.map(\.rawValue)
        // That of a $match has one more.
        if location == nil, what == PipelineReader.what { names.append("$expr") }
        let position = location.map { "at \"\($0)\" in the \(what)" } ?? "at the top level of the \(what)"
        var message = "unknown operator \"\(shown)\" \(position)"
        if let nearest = Spelling.nearest(to: name, among: names) {
            message += "; did you mean \"\(nearest)\"?"
        } else {
            message += "; supported are " + names.map { "\"\($0)\"" }.joined(separator: ", ")
        }
        return HoldfastError(
            .invalidQuery, message,
            detail: Operator.detail(shown, location: location) + [("supported", .texts(names))])
    }

    private func refusal(_ operation: Operator, location: String?, _ reason: String) -> HoldfastError {
        HoldfastError(
            .invalidQuery, "operator \"\(operation.rawValue)\" \(reason) the \(what)",
            detail: Operator.detail(operation.rawValue, location: location))
    }

    /// Where the trail leads in the text that was read.
    func position(in bytes: UnsafeRawBufferPointer) -> UInt64? {
        Self.position(of: trail, meansName: meansName, in: bytes)
    }

    /// Where a trail leads in a text.
    static func position(of trail: [Step], meansName: Bool, in bytes: UnsafeRawBufferPointer) -> UInt64? {
        let walker = JSONWalker(bytes)
        do throws(CorruptJSON) {
            var position = try walker.skipWhiteSpace(0)
            for (index, step) in trail.enumerated() {
                switch step {
                case .member(let name):
                    guard let member = try walker.member(name, of: position) else { return nil }
                    let isMeant = meansName && index == trail.count - 1
                    position = isMeant ? member.name.start - 1 : member.value
                case .element(let index):
                    var elements = try walker.elements(of: position)
                    for _ in 0..<index { _ = try elements.next() }
                    guard let element = try elements.next() else { return nil }
                    position = element
                }
            }
            return UInt64(position)
        } catch { return nil }
    }
}

extension JSONWalker {
    fileprivate func member(_ name: [UInt8], of object: Int) throws(CorruptJSON) -> Member? {
        var members = try members(of: object)
        while let member = try members.next() {
            let isMeant = try name.withBytes { name throws(CorruptJSON) in try equals(member.name, name) }
            if isMeant { return member }
        }
        return nil
    }
}
