package import HoldfastEnvironment

/// Trees of stored texts.
extension JSONValue {
    /// Checked entities are never so deep: what is comes from damaged bytes, and must not use up the stack.
    private static let maxStoredDepth = 256

    /// The object that is a document, with those of its members that are asked for; nil asks for all.
    package init(document: UnsafeRawBufferPointer, members wanted: [[UInt8]]?) throws(HoldfastError) {
        do throws(CorruptJSON) {
            let walker = JSONWalker(document)
            let start = try walker.skipWhiteSpace(0)
            if let wanted {
                self = .object(try Self.members(wanted, of: start, in: walker))
            } else {
                try self.init(at: start, in: walker, depth: 0)
            }
        } catch { throw HoldfastError(error) }
    }

    private static func members(
        _ wanted: [[UInt8]], of object: Int, in walker: JSONWalker
    ) throws(CorruptJSON) -> [Member] {
        if wanted.isEmpty { return [] }
        var found: [Member] = []
        found.reserveCapacity(wanted.count)
        var members = try walker.members(of: object)
        while let member = try members.next() {
            for name in wanted {
                let isMeant = try name.withBytes { name throws(CorruptJSON) in try walker.equals(member.name, name) }
                guard isMeant else { continue }
                found.append(Member(name: name, value: try JSONValue(at: member.value, in: walker, depth: 1)))
                if found.count == wanted.count { return found }
                break
            }
        }
        return found
    }

    private init(at position: Int, in walker: JSONWalker, depth: Int) throws(CorruptJSON) {
        guard depth < Self.maxStoredDepth else { throw CorruptJSON(position: position) }
        switch try walker.kind(at: position) {
        case .null: self = .null
        case .boolean: self = .bool(walker.boolean(at: position))
        case .number:
            switch try walker.number(at: position) {
            case .integer(let integer): self = .integer(integer)
            case .real(let real): self = .real(real)
            }
        case .string: self = .string(try walker.decode(walker.text(at: position)))
        case .array:
            var values: [JSONValue] = []
            var elements = try walker.elements(of: position)
            while let element = try elements.next() {
                values.append(try JSONValue(at: element, in: walker, depth: depth + 1))
            }
            self = .array(values)
        case .object:
            var values: [Member] = []
            var members = try walker.members(of: position)
            while let member = try members.next() {
                values.append(
                    Member(
                        name: try walker.decode(member.name),
                        value: try JSONValue(at: member.value, in: walker, depth: depth + 1)))
            }
            self = .object(values)
        }
    }
}
