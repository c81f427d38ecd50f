package import HoldfastEnvironment

/// Which members of the entities a query answers. What is answered keeps its order and its own bytes.
///
///     {"name": 1, "address.city": 1} or ["name", "address.city"]    these, and the key unless it is given a 0
///     {"notes": 0, "address.street": 0}                             all but these
///     {"score": {"$meta": "textScore"}}                             the score under this name, besides
///
/// Paths go through arrays: of their elements, each object is cut in the same way; where members are chosen, other
/// elements fall away.
package struct Projection: Sendable {
    private let includes: Bool
    private let root: Node
    /// Under which names the score is told; what the entity has under them falls away.
    private let scores: [[UInt8]]

    package var hasScores: Bool { !scores.isEmpty }

    /// Whether the value in an option stands for the score of a text search.
    package static func isScore(_ value: JSONValue) -> Bool {
        guard case .object(let members) = value, members.count == 1 else { return false }
        return members[0].name.elementsEqual("$meta".utf8) && members[0].value == .string(Array("textScore".utf8))
    }

    private struct Node: Sendable {
        var children: [(name: [UInt8], node: Node?)] = []

        func child(_ name: [UInt8]) -> Int? { children.firstIndex { $0.name == name } }

        /// False where another path begins with this one, or this one with another.
        mutating func insert(_ parts: ArraySlice<Path.Part>) -> Bool {
            let name = parts.first!.name
            let rest = parts.dropFirst()
            guard let index = child(name) else {
                var node = Node()
                let isLeaf = rest.isEmpty
                if !isLeaf { _ = node.insert(rest) }
                children.append((name, isLeaf ? nil : node))
                return true
            }
            return !rest.isEmpty && children[index].node?.insert(rest) ?? false
        }
    }

    package static let maxFields = 1000

    /// Nil where nothing is asked for. `key` names the member that holds the id.
    package init?(_ value: JSONValue, key: String) throws(HoldfastError) {
        var value = value
        var scores: [[UInt8]] = []
        if case .object(let members) = value {
            scores = members.filter { Self.isScore($0.value) }.map(\.name)
            value = .object(members.filter { !Self.isScore($0.value) })
        }
        for (number, name) in scores.enumerated() {
            guard !name.isEmpty, !name.contains(UInt8(ascii: ".")), name.first != UInt8(ascii: "$"),
                name != Array(key.utf8), !scores[..<number].contains(name)
            else {
                throw Self.refusal(
                    "must tell the score under names of their own, without dots: not "
                        + "\"\(String(decoding: name, as: UTF8.self))\"")
            }
        }
        self.scores = scores
        let fields = try Self.fields(value)
        let keyName = Array(key.utf8)
        let others = fields.filter { $0.name != keyName }
        let keyIsWanted = fields.first { $0.name == keyName }?.isWanted
        guard let first = others.first?.isWanted ?? keyIsWanted ?? (scores.isEmpty ? nil : false) else { return nil }
        if others.contains(where: { $0.isWanted != first }) {
            throw Self.refusal("cannot both choose and leave out: give all 1 or all 0 (\"\(key)\" may differ)")
        }
        includes = first
        var root = Node()
        for field in others {
            let path: Path
            do throws(HoldfastError) {
                path = try Path(field.name, what: "find options")
            } catch { throw Self.refusal(error.message) }
            if !root.insert(path.parts[...]) {
                throw Self.refusal("name a path twice, or with what is in it: \"\(path.text)\"")
            }
        }
        // The key has a will of its own: it stays unless it is given a 0.
        root.children.removeAll { $0.name == keyName }
        for name in scores {
            if root.child(name) != nil {
                throw Self.refusal("name \"\(String(decoding: name, as: UTF8.self))\" for the score and for a path")
            }
            if !first { root.children.append((name, nil)) }
        }
        if includes == (keyIsWanted ?? true) { root.children.append((keyName, nil)) }
        self.root = root
    }

    private static func fields(_ value: JSONValue) throws(HoldfastError) -> [(name: [UInt8], isWanted: Bool)] {
        var fields: [(name: [UInt8], isWanted: Bool)] = []
        switch value {
        case .array(let elements):
            for element in elements {
                guard case .string(let name) = element else {
                    throw refusal("must be paths, not \(element.typeInWords)")
                }
                fields.append((name, true))
            }
        case .object(let members):
            for member in members {
                switch member.value {
                case .integer(0), .bool(false): fields.append((member.name, false))
                case .integer(1), .bool(true): fields.append((member.name, true))
                default:
                    throw refusal(
                        "must have the values 1 and 0, or {\"$meta\": \"textScore\"}, not \(member.value.typeInWords)")
                }
            }
        default: throw refusal("must be an array of paths, or an object, not \(value.typeInWords)")
        }
        guard fields.count <= maxFields else { throw refusal("are \(fields.count); \(maxFields) are allowed") }
        return fields
    }

    private static func refusal(_ reason: String) -> HoldfastError {
        HoldfastError(.invalidOption, "\"fields\" in the find options \(reason)", detail: [("option", .text("fields"))])
    }

    // MARK: Cutting

    /// Appends what is wanted of an entity, behind it its score.
    package func append(
        _ document: UnsafeRawBufferPointer, score: Double? = nil, to result: inout [UInt8]
    ) throws(HoldfastError) {
        let walker = JSONWalker(document)
        do throws(CorruptJSON) {
            try object(at: walker.skipWhiteSpace(0), in: walker, root, &result, depth: 0)
        } catch { throw HoldfastError(error) }
        guard let score else { return }
        result.removeLast()
        for name in scores {
            var writer = JSONWriter()
            writer.value(.object([JSONValue.Member(name: name, value: .real(score))]))
            if result.last != UInt8(ascii: "{") { result.append(UInt8(ascii: ",")) }
            result += writer.bytes.dropFirst().dropLast()
        }
        result.append(UInt8(ascii: "}"))
    }

    /// Checked entities are never so deep: what is comes from damaged bytes, and must not use up the stack.
    private static let maxDepth = 256

    private func object(
        at position: Int, in walker: JSONWalker, _ node: Node, _ result: inout [UInt8], depth: Int
    ) throws(CorruptJSON) {
        var members = try walker.members(of: position)
        result.append(UInt8(ascii: "{"))
        let start = result.count
        while let member = try members.next() {
            let child = try child(of: node, named: member.name, in: walker)
            let before = result.count
            if before > start { result.append(UInt8(ascii: ",")) }
            let nameStart = member.name.start - 1
            switch child {
            case nil where includes, .some(nil) where !includes:
                result.removeLast(result.count - before)
            case nil, .some(nil):
                try result.append(contentsOf: walker.bytes(nameStart, walker.endOfValue(at: member.value)))
            case .some(let node?):
                result.append(contentsOf: walker.bytes(nameStart, member.value))
                let isKept = try value(at: member.value, in: walker, node, &result, depth: depth + 1)
                if !isKept { result.removeLast(result.count - before) }
            }
        }
        result.append(UInt8(ascii: "}"))
    }

    /// A value of which a part is meant; answers false, having appended nothing, where none of it is wanted.
    private func value(
        at position: Int, in walker: JSONWalker, _ node: Node, _ result: inout [UInt8], depth: Int
    ) throws(CorruptJSON) -> Bool {
        guard depth < Self.maxDepth else { throw CorruptJSON(position: position) }
        switch try walker.kind(at: position) {
        case .object: try object(at: position, in: walker, node, &result, depth: depth)
        case .array:
            var elements = try walker.elements(of: position)
            result.append(UInt8(ascii: "["))
            let start = result.count
            while let element = try elements.next() {
                let before = result.count
                if before > start { result.append(UInt8(ascii: ",")) }
                let isKept = try value(at: element, in: walker, node, &result, depth: depth + 1)
                if !isKept { result.removeLast(result.count - before) }
            }
            result.append(UInt8(ascii: "]"))
        default:
            if includes { return false }
            try result.append(contentsOf: walker.bytes(position, walker.endOfValue(at: position)))
        }
        return true
    }

    /// Nil where the member is not named; a nil node where it is named itself.
    private func child(
        of node: Node, named name: JSONText, in walker: JSONWalker
    ) throws(CorruptJSON) -> Node?? {
        for child in node.children {
            let isMeant = try child.name.withBytes { bytes throws(CorruptJSON) in try walker.equals(name, bytes) }
            if isMeant { return .some(child.node) }
        }
        return nil
    }
}
