package import HoldfastEnvironment

/// Makes documents of documents: with some members, without some, with computed ones. What `$project`, `$set` and `$unset`
/// have in common.
///
/// Paths go through arrays, in each element. What is computed is computed from the document as it came.
package struct Projector: Sendable {
    package enum Mode: Sendable {
        /// Only what is named, and what is computed.
        case choose
        /// All but what is named.
        case leaveOut
        /// All, with what is computed in its place.
        case set
    }

    struct Node: Sendable {
        fileprivate(set) var children: [Child] = []
        /// Where each is, once they are not few.
        fileprivate var places: [[UInt8]: Int] = [:]
        /// Whether something in it is computed.
        var computes = false
    }

    struct Child: Sendable {
        let name: [UInt8]
        var field: Field
    }

    indirect enum Field: Sendable {
        /// Chosen, or left out.
        case named
        /// The value of this number is put here; where there is none, nothing is.
        case computed(Int)
        case nested(Node)
    }

    package let mode: Mode
    private let root: Node
    private let expressions: [Expression]

    init(_ mode: Mode, _ root: Node, _ expressions: [Expression]) {
        self.mode = mode
        self.root = root
        self.expressions = expressions
    }

    /// Puts a value, or nothing, at a path: `place(_:in:)`.
    init(placingAt path: Path) {
        var root = Node()
        root.insert(path.parts.map(\.name)[...], .computed(0))
        self.init(.set, root, [])
    }

    /// The members that it leaves as they are, of all that a document may have: `isKept` tells it of one.
    package func keeps(_ name: [UInt8]) -> Bool {
        switch root.index(of: name).map({ root.children[$0].field }) {
        case nil: return mode != .choose
        case .named: return mode == .choose
        default: return false
        }
    }

    package func apply(_ document: JSONValue) throws(HoldfastError) -> JSONValue {
        var values: [JSONValue?] = []
        values.reserveCapacity(expressions.count)
        for expression in expressions { values.append(try expression.evaluate(document)) }
        return made(root, of: document, values) ?? document
    }

    package func place(_ value: JSONValue?, in document: JSONValue) -> JSONValue {
        made(root, of: document, [value]) ?? document
    }

    // MARK: Making

    /// Nil where nothing is left of a value. Recurses no deeper than paths are long, and arrays stand in each other.
    private func made(_ node: Node, of value: JSONValue, _ values: [JSONValue?]) -> JSONValue? {
        switch value {
        case .object(let members): return .object(made(node, of: members, values))
        case .array(let elements): return .array(elements.compactMap { made(node, of: $0, values) })
        default:
            if node.computes { return .object(made(node, of: [], values)) }
            return mode == .choose ? nil : value
        }
    }

    private func made(
        _ node: Node, of members: [JSONValue.Member], _ values: [JSONValue?]
    ) -> [JSONValue.Member] {
        var result: [JSONValue.Member] = []
        result.reserveCapacity(members.count)
        var isPlaced = node.computes ? [Bool](repeating: false, count: node.children.count) : []
        for member in members {
            guard let index = node.index(of: member.name) else {
                if mode != .choose { result.append(member) }
                continue
            }
            switch node.children[index].field {
            case .named: if mode == .choose { result.append(member) }
            case .computed(let number):
                // Chosen members come first.
                if mode == .choose { continue }
                if let value = values[number] { result.append(JSONValue.Member(name: member.name, value: value)) }
            case .nested(let node):
                if let value = made(node, of: member.value, values) {
                    result.append(JSONValue.Member(name: member.name, value: value))
                }
            }
            if node.computes { isPlaced[index] = true }
        }
        guard node.computes else { return result }
        for (index, child) in node.children.enumerated() where !isPlaced[index] {
            switch child.field {
            case .computed(let number):
                if let value = values[number] { result.append(JSONValue.Member(name: child.name, value: value)) }
            case .nested(let node) where node.computes:
                result.append(JSONValue.Member(name: child.name, value: .object(made(node, of: [], values))))
            default: break
            }
        }
        return result
    }
}

extension Projector.Node {
    /// Answers false where the path, or the beginning of it, or one that it is the beginning of, is there already.
    @discardableResult
    mutating func insert(_ path: ArraySlice<[UInt8]>, _ field: Projector.Field) -> Bool {
        let (name, rest) = (path.first!, path.dropFirst())
        if case .computed = field { computes = true }
        guard let index = index(of: name) else {
            append(name, rest, field)
            return true
        }
        guard !rest.isEmpty, case .nested(var node) = children[index].field else { return false }
        // The tree holds the node once, so that inserting copies nothing.
        children[index].field = .named
        let isNew = node.insert(rest, field)
        children[index].field = .nested(node)
        return isNew
    }

    private mutating func append(_ name: [UInt8], _ rest: ArraySlice<[UInt8]>, _ field: Projector.Field) {
        places[name] = children.count
        if rest.isEmpty { return children.append(Projector.Child(name: name, field: field)) }
        var node = Projector.Node()
        node.insert(rest, field)
        children.append(Projector.Child(name: name, field: .nested(node)))
    }

    func index(of name: [UInt8]) -> Int? {
        children.count > 8 ? places[name] : children.firstIndex { $0.name == name }
    }
}
