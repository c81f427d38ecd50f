public import HoldfastEnvironment

/// A filter that may have parameters: compiled once, given their values for each use.
///
///     {"age": {"$gte": {"$param": "least"}}}    with the parameters    {"least": 30}
///
/// A parameter's value is always a literal, whatever it looks like: no value can add an operator.
public struct FilterTemplate: Sendable {
    /// The template that every entity matches.
    public static let all = FilterTemplate(
        root: .all([]), parameters: [], asksForText: false, source: .object([]), what: "filter")

    private let root: Filter.Node
    /// The names of those that occur.
    let parameters: Set<[UInt8]>
    /// Whether there is a `$text` in it, which needs a text index.
    package let asksForText: Bool
    private let source: JSONValue
    private let what: String

    init(root: Filter.Node, parameters: Set<[UInt8]>, asksForText: Bool, source: JSONValue, what: String) {
        self.root = root
        self.parameters = parameters
        self.asksForText = asksForText
        self.source = source
        self.what = what
    }

    private typealias Values = [[UInt8]: JSONValue]

    /// Compiles a filter. `what` names it in messages, without an article.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, what: String = "filter", limits: PayloadLimits = .standard
    ) throws(HoldfastError) -> FilterTemplate {
        let value = try JSONValue.parse(bytes, what: what, limits: limits)
        var compiler = FilterCompiler(what: what)
        do throws(HoldfastError) {
            return try compiler.template(value)
        } catch {
            var error = error
            if let position = compiler.position(in: bytes) { error.detail.append(("position", .number(position))) }
            throw error
        }
    }

    /// The filter with these values for its parameters: each must have one, and each value its parameter.
    public func bind(_ values: [JSONValue.Member]) throws(HoldfastError) -> Filter { try bind(values, text: nil) }

    /// The same, where `text` is what the text index is over that `$text` asks.
    package func bind(_ values: [JSONValue.Member], text: TextDefinition?) throws(HoldfastError) -> Filter {
        if parameters.isEmpty && values.isEmpty && !asksForText { return Filter(root: root, source: source) }
        let given = Values(values.map { ($0.name, $0.value) }) { first, _ in first }
        if let name = parameters.first(where: { given[$0] == nil }) {
            throw refusal(name, "the parameter \(Self.shown(name)) of the \(what) has no value: give it one")
        }
        if let name = values.first(where: { !parameters.contains($0.name) })?.name {
            var message = "the \(what) has no parameter \(Self.shown(name))"
            let names = parameters.map { String(decoding: $0, as: UTF8.self) }
            if let nearest = Spelling.nearest(to: name, among: names) { message += "; did you mean \"\(nearest)\"?" }
            throw refusal(name, message)
        }
        // No storage knows which words an index has: one that understands filters is asked for everything.
        let source = asksForText ? JSONValue.object([]) : source.replacingParameters(by: given)
        return Filter(root: try bind(root, given, text), source: source)
    }

    private func bind(
        _ node: Filter.Node, _ values: Values, _ text: TextDefinition?
    ) throws(HoldfastError) -> Filter.Node {
        switch node {
        case .all(let nodes): return .conjunction(try bind(nodes, values, text))
        case .any(let nodes): return .any(try bind(nodes, values, text))
        case .none(let nodes): return .none(try bind(nodes, values, text))
        case .path(let path, .elementObject(let node)): return .path(path, .elementObject(try bind(node, values, text)))
        case .path(let path, .elementValue(let node)): return .path(path, .elementValue(try bind(node, values, text)))
        case .path, .text: return node
        case .unbound(let condition) where condition.operation == .text:
            guard let text else {
                throw condition.operation.refusal(
                    "needs a text index: create an index of the kind \"text\" over the paths to be searched",
                    location: nil, what: what)
            }
            return .text(try condition.bound(to: values).search(of: text, what: what))
        case .unbound(let condition): return try condition.bound(to: values).node(what: what)
        }
    }

    private func bind(
        _ nodes: [Filter.Node], _ values: Values, _ text: TextDefinition?
    ) throws(HoldfastError) -> [Filter.Node] {
        var bound: [Filter.Node] = []
        for node in nodes { bound.append(try bind(node, values, text)) }
        return bound
    }

    private func refusal(_ name: [UInt8], _ message: String) -> HoldfastError {
        HoldfastError(
            .invalidQuery, message, detail: [("parameter", .text(String(decoding: name, as: UTF8.self)))])
    }

    private static func shown(_ name: [UInt8]) -> String { "\"\(String(decoding: name, as: UTF8.self))\"" }
}

extension Condition {
    func collectParameters(_ names: inout Set<[UInt8]>) {
        operand.collectParameters(&names)
        options?.collectParameters(&names)
    }

    fileprivate func bound(to values: [[UInt8]: JSONValue]) -> Condition {
        Condition(
            path: path, location: location, operation: operation, operand: operand.replacingParameters(by: values),
            options: options?.replacingParameters(by: values))
    }
}

extension JSONValue {
    /// The name in `{"$param": "name"}`; nil for any other value.
    var parameterName: [UInt8]? {
        guard case .object(let members) = self, members.count == 1, members[0].name.elementsEqual("$param".utf8),
            case .string(let name) = members[0].value
        else { return nil }
        return name
    }

    fileprivate func collectParameters(_ names: inout Set<[UInt8]>) {
        if let name = parameterName {
            names.insert(name)
            return
        }
        switch self {
        case .array(let elements): for element in elements { element.collectParameters(&names) }
        case .object(let members): for member in members { member.value.collectParameters(&names) }
        default: break
        }
    }

    fileprivate func replacingParameters(by values: [[UInt8]: JSONValue]) -> JSONValue {
        if let name = parameterName { return values[name] ?? self }
        switch self {
        case .array(let elements): return .array(elements.map { $0.replacingParameters(by: values) })
        case .object(let members):
            return .object(
                members.map { Member(name: $0.name, value: $0.value.replacingParameters(by: values)) })
        default: return self
        }
    }
}
