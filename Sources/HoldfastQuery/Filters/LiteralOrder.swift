internal import HoldfastEnvironment

extension JSONWalker {
    /// Whether the value at `position` equals a literal, as queries understand it. Recurses no deeper
    /// than the literal.
    package func equals(_ position: Int, _ literal: JSONValue) throws(CorruptJSON) -> Bool {
        switch (try kind(at: position), literal) {
        case (.null, .null): return true
        case (.boolean, .bool(let flag)): return boolean(at: position) == flag
        case (.number, .integer(let integer)): return try number(at: position) == .integer(integer)
        case (.number, .real(let real)): return try number(at: position) == .real(real)
        case (.string, .string(let bytes)): return try equals(text(at: position), bytes)
        case (.array, .array(let literals)):
            var elements = try elements(of: position)
            for literal in literals {
                guard let element = try elements.next(), try equals(element, literal) else { return false }
            }
            return try elements.next() == nil
        case (.object, .object(let literals)):
            var members = try members(of: position)
            for literal in literals {
                guard let member = try members.next(), try equals(member.name, literal.name),
                    try equals(member.value, literal.value)
                else { return false }
            }
            return try members.next() == nil
        default: return false
        }
    }

    private func equals(_ text: JSONText, _ literal: [UInt8]) throws(CorruptJSON) -> Bool {
        try literal.withUnsafeBufferPointer { bytes throws(CorruptJSON) in
            try equals(text, UnsafeRawBufferPointer(bytes))
        }
    }

    /// Orders the value at `position` and a literal as `OrderedKey` does, without making keys: negative, 0, positive.
    /// Takes no longer than the shorter of the two, and recurses no deeper than the literal.
    package func order(_ position: Int, _ literal: JSONValue) throws(CorruptJSON) -> Int {
        let kind = try kind(at: position)
        let types = kind.rank - literal.kind.rank
        return types != 0 ? types : try order(sameKind: position, literal)
    }

    /// Of a value of the literal's own kind.
    package func order(sameKind position: Int, _ literal: JSONValue) throws(CorruptJSON) -> Int {
        switch literal {
        case .null: return 0
        case .bool(let flag): return (boolean(at: position) ? 1 : 0) - (flag ? 1 : 0)
        case .integer(let integer): return try number(at: position).order(.integer(integer))
        case .real(let real): return try number(at: position).order(.real(real))
        case .string(let bytes): return try order(text(at: position), bytes)
        case .array(let literals):
            var elements = try elements(of: position)
            for literal in literals {
                guard let element = try elements.next() else { return -1 }
                let order = try order(element, literal)
                if order != 0 { return order }
            }
            return try elements.next() == nil ? 0 : 1
        case .object(let literals):
            var members = try members(of: position)
            for literal in literals {
                guard let member = try members.next() else { return -1 }
                let types = try kind(at: member.value).rank - literal.value.kind.rank
                if types != 0 { return types }
                let names = try order(member.name, literal.name)
                if names != 0 { return names }
                let values = try order(sameKind: member.value, literal.value)
                if values != 0 { return values }
            }
            return try members.next() == nil ? 0 : 1
        }
    }

    private func order(_ text: JSONText, _ literal: [UInt8]) throws(CorruptJSON) -> Int {
        try literal.withUnsafeBufferPointer { bytes throws(CorruptJSON) in
            try order(text, UnsafeRawBufferPointer(bytes))
        }
    }
}

/// Literals to look a value up in: sorted, so that a long list costs little more than a short one.
package struct LiteralSet: Sendable, Equatable {
    /// In their order, equal ones once.
    package let values: [JSONValue]
    let hasNull: Bool

    package init(_ values: [JSONValue]) {
        var keyed = values.map { value in
            var key = OrderedKey()
            key.append(value)
            return (key: key, value: value)
        }
        keyed.sort { $0.key < $1.key }
        var distinct: [JSONValue] = []
        for (index, entry) in keyed.enumerated() where index == 0 || keyed[index - 1].key != entry.key {
            distinct.append(entry.value)
        }
        self.values = distinct
        hasNull = distinct.first == .null
    }

    package func contains(_ position: Int, in walker: JSONWalker) throws(CorruptJSON) -> Bool {
        try values.search { value throws(CorruptJSON) in try walker.order(position, value) }.isFound
    }
}
