public import HoldfastEnvironment

/// A JSON Merge Patch (RFC 7396), read once and applied to the text of entities.
///
/// Only what the patch names is rewritten; every other byte of the target stays: white space, number
/// forms, escapes, the order of members. Values come out as they stand in the patch, except that
/// objects are written anew, because nulls may have to be left out of them. New members are appended
/// at the end of their object, in the patch's order; null removes a member with its comma.
public struct MergePatch: Sendable {
    /// The patch as it was given.
    package let text: [UInt8]
    /// Those under which it was read, and which its results must keep as well.
    package let limits: PayloadLimits
    private var root: Node

    /// An object of the patch.
    private struct Node: Sendable {
        var changes: [Change] = []
        /// The indexes of `changes` in bytewise order of their names, so that a target member finds
        /// its change by bisection and a wide patch costs no quadratic time. Empty where there is but one.
        var byName: [Int] = []

        mutating func sortNames() {
            if changes.count < 2 { return }
            byName = changes.indices.sorted { changes[$0].name.lexicographicallyPrecedes(changes[$1].name) }
        }
    }

    private struct Change: Sendable {
        let name: [UInt8]
        /// The name as it stands in the patch, with its quotes.
        let nameText: Range<Int>
        let kind: Kind
    }

    private enum Kind: Sendable {
        case remove
        case replace(Range<Int>)
        case merge(Node)
    }

    /// Reads a patch. `what` names it in messages. One that is no object is refused with
    /// `invalidEntity`: it would replace the entity by something that is none.
    public init(
        _ patch: UnsafeRawBufferPointer, what: String = "patch", limits: PayloadLimits = .standard
    ) throws(HoldfastError) {
        let value = try JSONValue.parse(patch, what: what, limits: limits)
        guard case .object = value else {
            throw HoldfastError(.invalidEntity, "the \(what) must be a JSON object, not \(value.typeInWords)")
        }
        try self.init(checked: patch, limits: limits)
    }

    /// The same for the text of an object that was checked before. The member `left`, if there is one, stays as it is in
    /// every target.
    package init(
        checked patch: UnsafeRawBufferPointer, leavingOut left: [UInt8]? = nil, limits: PayloadLimits
    ) throws(HoldfastError) {
        text = Array(patch)
        self.limits = limits
        let walker = JSONWalker(patch)
        do throws(CorruptJSON) {
            root = try Self.node(walker, at: walker.skipWhiteSpace(0), leavingOut: left)
        } catch {
            throw HoldfastError(.internal, "a patch was accepted but cannot be read at byte \(error.position)")
        }
    }

    private static func node(
        _ walker: JSONWalker, at object: Int, leavingOut left: [UInt8]? = nil
    ) throws(CorruptJSON) -> Node {
        var node = Node()
        var members = try walker.members(of: object)
        while let member = try members.next() {
            let name = try walker.decode(member.name)
            if name == left { continue }
            let kind: Kind =
                switch try walker.kind(at: member.value) {
                case .null: .remove
                case .object: .merge(try Self.node(walker, at: member.value))
                default: .replace(member.value..<(try walker.endOfValue(at: member.value)))
                }
            node.changes.append(
                Change(
                    name: name,
                    nameText: (member.name.start - 1)..<(member.name.end + 1), kind: kind))
        }
        node.sortNames()
        return node
    }

    /// The names of the members that the patch changes at the top level, in its order.
    public var names: [[UInt8]] { root.changes.map(\.name) }

    /// The patched text of `target`, which is a stored entity. The caller checks the result's size,
    /// and that its id is still the entity's.
    public func applied(to target: UnsafeRawBufferPointer) throws(HoldfastError) -> [UInt8] {
        let walker = JSONWalker(target)
        var output: [UInt8] = []
        output.reserveCapacity(target.count + text.count)
        do throws(CorruptJSON) {
            let start = try walker.skipWhiteSpace(0)
            output.append(contentsOf: walker.bytes(0, start))
            let end = try apply(root, to: walker, at: start, &output)
            output.append(contentsOf: walker.bytes(end, target.count))
        } catch { throw HoldfastError(error) }
        return output
    }

    /// Appends the object at `object`, patched, and answers where it ended. Recurses as deep as the patch.
    private func apply(
        _ node: Node, to walker: JSONWalker, at object: Int, _ output: inout [UInt8]
    ) throws(CorruptJSON) -> Int {
        // Of most patches, which change one member, the first says it all.
        var isAnyDone = false
        var isDone = node.changes.count < 2 ? [] : [Bool](repeating: false, count: node.changes.count)
        var rewriter = ContainerRewriter(walker, opening: object)
        var members = try walker.members(of: object)
        while let member = try members.next() {
            let start = member.name.start - 1
            let end = try walker.endOfValue(at: member.value)
            guard let index = try Self.change(of: member.name, in: node, walker) else {
                rewriter.keep(from: start, to: end, &output)
                continue
            }
            isAnyDone = true
            if !isDone.isEmpty { isDone[index] = true }
            let kind = node.changes[index].kind
            if case .remove = kind {
                rewriter.remove(from: start, to: end, &output)
                continue
            }
            rewriter.keep(from: start, replacing: member.value, to: end, &output)
            if case .merge(let inner) = kind, try walker.kind(at: member.value) == .object {
                _ = try apply(inner, to: walker, at: member.value, &output)
            } else {
                try appendNew(kind, &output)
            }
        }
        for (index, change) in node.changes.enumerated() where isDone.isEmpty ? !isAnyDone : !isDone[index] {
            if case .remove = change.kind { continue }
            rewriter.add(&output)
            output.append(contentsOf: text[change.nameText])
            output.append(UInt8(ascii: ":"))
            try appendNew(change.kind, &output)
        }
        let end = members.closing + 1
        rewriter.finish(at: end, &output)
        return end
    }

    /// Appends a value that does not merge with one of the target's.
    private func appendNew(_ kind: Kind, _ output: inout [UInt8]) throws(CorruptJSON) {
        switch kind {
        case .remove: break
        case .replace(let range): output.append(contentsOf: text[range])
        case .merge(let node):
            // RFC 7396: a patch object replaces anything else as if it were merged into `{}`.
            let empty: StaticString = "{}"
            let object = UnsafeRawBufferPointer(start: empty.utf8Start, count: empty.utf8CodeUnitCount)
            _ = try apply(node, to: JSONWalker(object), at: 0, &output)
        }
    }

    private static func change(
        of name: JSONText, in node: Node, _ walker: JSONWalker
    ) throws(CorruptJSON) -> Int? {
        if node.changes.count == 1 {
            return try node.changes[0].name.withBytes { bytes throws(CorruptJSON) in try walker.equals(name, bytes) }
                ? 0 : nil
        }
        let found = try node.byName.search { index throws(CorruptJSON) in
            try node.changes[index].name.withUnsafeBufferPointer { bytes throws(CorruptJSON) in
                try walker.order(name, UnsafeRawBufferPointer(bytes))
            }
        }
        return found.isFound ? node.byName[found.index] : nil
    }
}
