public import HoldfastEnvironment

/// A query's condition, compiled: which entities it holds for. `repository.h` describes the language, a part of
/// MongoDB's with its semantics; `FilterCompiler` reads it, `Matcher` says what it means for a document, and a
/// planner reads the tree to find bounds for an index.
public struct Filter: Sendable, Equatable {
    /// The filter that every entity matches.
    public static let all = Filter(root: .all([]))

    /// As it was written, with the values of its parameters: for a storage that understands filters by itself.
    package let source: JSONValue

    package init(root: Node, source: JSONValue = .object([])) {
        self.root = root
        self.source = source
    }

    /// Whether they mean the same, however they are written.
    public static func == (left: Filter, right: Filter) -> Bool { left.root == right.root }

    /// Conditions under `all` are never `all` themselves, so that a planner finds what must hold in one list.
    package let root: Node

    package indirect enum Node: Sendable, Equatable {
        case all([Node])
        case any([Node])
        /// No one of them holds: `$nor`, `$not`, `$ne`, `$nin`, `{"$exists": false}`.
        case none([Node])
        /// Some value that the path leads to passes the test.
        case path(Path, Test)
        /// Has the words that are asked for.
        case text(WordSearch)
        /// Waits for its parameters, or for the text index; a filter that is matched has no such node.
        case unbound(Condition)
    }

    /// What a value must be. A test is passed too by an array of which an element passes it, unless told otherwise.
    package indirect enum Test: Sendable, Equatable {
        /// Null equals what is missing, too.
        case equal(JSONValue)
        // Only values of the literal's own type compare with it, so null only with null and what is missing.
        case less(JSONValue)
        case lessOrEqual(JSONValue)
        case greater(JSONValue)
        case greaterOrEqual(JSONValue)
        case `in`(LiteralSet)
        /// There is a value. Of an array, the array itself is asked.
        case exists
        case type(TypeSet)
        /// A string of which some part matches.
        case regex(Pattern)
        case remainder(divisor: Int64, Int64)
        /// An array of so many elements; the array itself is asked, not its elements.
        case size(Int)
        /// An array with an element that is an object, or array, for which the node holds.
        case elementObject(Node)
        /// An array with an element that passes the tests of the node, whose paths are `Path.itself`.
        case elementValue(Node)
    }

    /// Whether the filter holds for every entity, so that matching is unneeded.
    public var isAll: Bool { root == .all([]) }

    /// The nodes that must all hold.
    package var conjuncts: [Node] {
        if case .all(let nodes) = root { return nodes }
        return [root]
    }

    /// What `$text` asks for, wherever it stands in the filter.
    package var text: WordSearch? { root.text }

    /// Compiles a filter without parameters. `what` names it in messages, without an article.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, what: String = "filter", limits: PayloadLimits = .standard
    ) throws(HoldfastError) -> Filter {
        try FilterTemplate.parse(bytes, what: what, limits: limits).bind([])
    }

    /// The only id that an entity matching this filter can have, if the filter says so, which makes
    /// the query a point read. `key` names the repository's key field. The entity that is found must
    /// still be matched: the filter may ask for more, and 42 and "42" are one id but two values.
    public func idEquality(key: String) -> EntityID? {
        for case .path(let path, .equal(let operand)) in conjuncts where path.leads(to: key) {
            if let id = EntityID(of: operand) { return id }
        }
        return nil
    }
}

extension Filter.Node {
    fileprivate var text: WordSearch? {
        switch self {
        case .text(let search): return search
        case .all(let nodes), .any(let nodes):
            for node in nodes { if let text = node.text { return text } }
            return nil
        case .none, .path, .unbound: return nil
        }
    }

    /// All of them, with those that are conjunctions themselves taken apart.
    package static func conjunction(_ nodes: [Filter.Node]) -> Filter.Node {
        var flat: [Filter.Node] = []
        for node in nodes {
            if case .all(let inner) = node { flat += inner } else { flat.append(node) }
        }
        return flat.count == 1 ? flat[0] : .all(flat)
    }
}

/// The types that `$type` asks for. JSON has one type of number; as MongoDB's drivers store it, an integer is an
/// "int" where 32 bits hold it and otherwise a "long", and any other number is a "double".
package struct TypeSet: OptionSet, Sendable {
    package let rawValue: UInt16

    package static let null = TypeSet(rawValue: 1)
    package static let string = TypeSet(rawValue: 2)
    package static let object = TypeSet(rawValue: 4)
    package static let array = TypeSet(rawValue: 8)
    package static let boolean = TypeSet(rawValue: 16)
    package static let int = TypeSet(rawValue: 32)
    package static let long = TypeSet(rawValue: 64)
    package static let double = TypeSet(rawValue: 128)
    package static let number: TypeSet = [.int, .long, .double]

    /// The names, and BSON's numbers, of the types that a JSON value can have.
    package static let names: [(name: String, code: Int64?, type: TypeSet)] = [
        ("null", 10, .null), ("bool", 8, .boolean), ("number", nil, .number), ("string", 2, .string),
        ("object", 3, .object), ("array", 4, .array), ("int", 16, .int), ("long", 18, .long), ("double", 1, .double),
    ]

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Nil where no JSON value has this type.
    package init?(_ value: JSONValue) {
        let found = Self.names.first { entry in
            switch value {
            case .string(let name): entry.name.utf8.elementsEqual(name)
            case .integer(let code): entry.code == code
            default: false
            }
        }
        guard let found else { return nil }
        self = found.type
    }
}
