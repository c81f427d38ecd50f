public import HoldfastEnvironment

/// An update in MongoDB's operators, read once and applied to the text of entities:
///
///     {"$inc": {"plays": 1}, "$push": {"album.tracks": "Gloria"}}
///
/// Only what a path names is rewritten; every other byte of the target stays, as with a merge patch. Values come out as
/// they stand in the update. New members are appended at the end of their object, in the order of their names, those that
/// are numbers by their value.
///
/// Several paths in one update must not meet: none may be another's beginning. So the order in which they are worked
/// does not matter, and one walk through the target does them all.
public struct Update: Sendable {
    /// The update as it was given.
    package let text: [UInt8]
    /// Those of an entity, which its results must keep.
    package let limits: PayloadLimits
    package let root: Node
    /// Where the values come from that `Operation.move` names by number.
    package let moved: [Path]

    /// A dotted path to one value; numbers name the elements of arrays.
    package struct Path: Sendable {
        package let parts: [[UInt8]]

        package var text: String { text(ofFirst: parts.count) }

        package func text(ofFirst count: Int) -> String {
            parts.prefix(count).map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
        }
    }

    /// The end of a path, and what happens there.
    package struct Leaf: Sendable {
        package let path: Path
        /// The operator's name, for messages.
        package let name: String
        package let operation: Operation
    }

    /// An object or array in the target that paths lead through.
    package struct Node: Sendable {
        /// In bytewise order of their names, so that a member of the target finds its child by bisection.
        package var children: [Child] = []
        /// Those whose names are indexes, in the order of these.
        var byIndex: [Int] = []
        /// All, in the order in which members of theirs are added.
        var additions: [Int] = []
    }

    package struct Child: Sendable {
        package let name: [UInt8]
        /// The index that the name means in an array.
        package let index: Int?
        package let step: Step
    }

    package indirect enum Step: Sendable {
        case through(Node)
        case end(Leaf)
    }

    /// Reads an update. `key` names the member that holds an entity's id, which no update changes. What is wrong with
    /// the update itself, whatever it is applied to, is `invalidQuery`.
    public init(
        _ update: UnsafeRawBufferPointer, key: String, limits: PayloadLimits = .standard
    ) throws(HoldfastError) {
        // An operator, a path and `$each` stand around the values of an entity.
        let wider = PayloadLimits(maxBytes: limits.maxBytes, maxDepth: limits.maxDepth + 4)
        let value = try JSONValue.parse(update, what: "update", limits: wider)
        guard case .object = value else {
            throw HoldfastError(.invalidQuery, "the update must be a JSON object, not \(value.typeInWords)")
        }
        var reader = UpdateReader(text: ItemWalker(update), key: Array(key.utf8), limits: limits)
        try reader.read()
        text = Array(update)
        self.limits = limits
        root = try Node(of: &reader.leaves)
        moved = reader.moved
    }
}

extension Update.Node {
    /// Refuses paths that meet.
    package init(of leaves: inout [Update.Leaf]) throws(HoldfastError) {
        leaves.sort { left, right in
            left.path.parts.lexicographicallyPrecedes(right.path.parts) { $0.lexicographicallyPrecedes($1) }
        }
        try self.init(of: leaves[...], depth: 0)
    }

    /// Of leaves that share their first `depth` parts, sorted. Recurses as deep as the paths.
    private init(of leaves: ArraySlice<Update.Leaf>, depth: Int) throws(HoldfastError) {
        var rest = leaves
        while let first = rest.first {
            let name = first.path.parts[depth]
            let group = rest.prefix { $0.path.parts[depth] == name }
            rest = rest.dropFirst(group.count)
            let index = Self.index(name)
            let step: Update.Step
            if first.path.parts.count > depth + 1 {
                step = .through(try Self(of: group, depth: depth + 1))
            } else if group.count == 1 {
                step = .end(first)
            } else {
                throw Self.conflict(first, group[group.startIndex + 1])
            }
            if index != nil { byIndex.append(children.count) }
            children.append(Update.Child(name: name, index: index, step: step))
        }
        byIndex.sort { children[$0].index! < children[$1].index! }
        additions = children.indices.sorted { Self.isAdded(children[$0].name, before: children[$1].name) }
    }

    /// MongoDB's order, which for speed takes for a number whatever begins like one: the longer is the greater one.
    private static func isAdded(_ name: [UInt8], before other: [UInt8]) -> Bool {
        func beginsAsNumber(_ name: [UInt8]) -> Bool {
            guard let first = name.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
            return first != UInt8(ascii: "0") || name.count == 1
        }
        if name.count != other.count, beginsAsNumber(name), beginsAsNumber(other) { return name.count < other.count }
        return name.lexicographicallyPrecedes(other)
    }

    private static func conflict(_ first: Update.Leaf, _ second: Update.Leaf) -> HoldfastError {
        HoldfastError(
            .invalidQuery,
            "\"\(first.name)\" of \"\(first.path.text)\" and \"\(second.name)\" of \"\(second.path.text)\" would create a "
                + "conflict at \"\(first.path.text)\": give them in two updates",
            detail: [("path", .text(first.path.text))])
    }

    /// Digits without a leading zero.
    private static func index(_ name: [UInt8]) -> Int? {
        guard name.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            name.count == 1 || name.first != UInt8(ascii: "0")
        else { return nil }
        return Int(String(decoding: name, as: UTF8.self))
    }

    /// The child that a member of the target is.
    package func child(named name: JSONText, in text: ItemWalker) throws(HoldfastError) -> Int? {
        let found = try children.search { child throws(HoldfastError) in try text.order(name, child.name) }
        return found.isFound ? found.index : nil
    }
}
