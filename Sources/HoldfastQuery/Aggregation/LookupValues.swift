/// How documents and the entities that are looked up for them find each other.
extension Path {
    /// The values that the path leads to in a document, through arrays; of an array at its end the elements. Null where there
    /// are none.
    package func values(in document: JSONValue) -> [JSONValue] {
        var values: [JSONValue] = []
        collect(document, parts[...], &values)
        return values.isEmpty ? [.null] : values
    }

    /// Recurses no deeper than the path is long, and arrays stand in each other.
    private func collect(_ value: JSONValue, _ parts: ArraySlice<Part>, _ values: inout [JSONValue]) {
        guard let part = parts.first else {
            if case .array(let elements) = value { values += elements } else { values.append(value) }
            return
        }
        switch value {
        case .object(let members):
            if let member = members.first(where: { $0.name == part.name }) {
                collect(member.value, parts.dropFirst(), &values)
            }
        case .array(let elements):
            if let index = part.index, index < elements.count { collect(elements[index], parts.dropFirst(), &values) }
            for element in elements {
                if case .object = element { collect(element, parts, &values) }
            }
        default: break
        }
    }

    /// The keys of all values that equal something in a filter at this path.
    package func collectKeys(in walker: JSONWalker, _ keys: inout Set<OrderedKey>) throws(CorruptJSON) {
        func add(_ position: Int) throws(CorruptJSON) {
            var key = OrderedKey()
            try key.append(valueAt: position, in: walker)
            keys.insert(key)
        }
        _ = try PathWalk(walker, self).visit(from: walker.skipWhiteSpace(0)) { leaf throws(CorruptJSON) in
            switch leaf {
            case .missing, .unnamed:
                var key = OrderedKey()
                key.appendMissing()
                keys.insert(key)
            case .blocked: break
            case .element(let position): try add(position)
            case .member(let position):
                try add(position)
                guard try walker.kind(at: position) == .array else { break }
                var elements = try walker.elements(of: position)
                while let element = try elements.next() { try add(element) }
            }
            return false
        }
    }
}

extension Filter {
    /// The entities with one of these values at a path.
    package init(among values: [JSONValue], at path: Path) {
        let values = LiteralSet(values)
        let condition = JSONValue.object([
            JSONValue.Member(name: Array(Operator.in.rawValue.utf8), value: .array(values.values))
        ])
        self.init(
            root: .path(path, .in(values)),
            source: .object([JSONValue.Member(name: Array(path.text.utf8), value: condition)]))
    }
}
