import HoldfastQuery

/// Random filters for property tests.
extension JSONSamples {
    mutating func filter(depth: Int) -> JSONValue {
        var members: [JSONValue.Member] = []
        for _ in 0...below(2) {
            let member: JSONValue.Member
            if depth > 0, below(3) == 0 {
                let filters = (0...below(3)).map { _ in filter(depth: depth - 1) }
                member = .init(name: Array(pick(["$and", "$or", "$nor"]).utf8), value: .array(filters))
            } else {
                member = .init(name: path(), value: below(5) == 0 ? literal() : operators(depth: depth))
            }
            if !members.contains(where: { $0.name == member.name }) { members.append(member) }
        }
        return .object(members)
    }

    private mutating func path() -> [UInt8] {
        Array((0...below(3)).map { _ in pick(["a", "b", "c", "0", "1", ""]) }.joined(separator: ".").utf8)
    }

    private mutating func literal() -> JSONValue { below(3) == 0 ? value(depth: 2) : scalar() }

    private mutating func operators(depth: Int) -> JSONValue {
        var members: [JSONValue.Member] = []
        for _ in 0...below(2) {
            let name = pick([
                "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$type", "$all", "$size", "$mod",
                "$not", "$elemMatch", "$elemMatch",
            ])
            if members.contains(where: { $0.name == Array(name.utf8) }) { continue }
            members.append(.init(name: Array(name.utf8), value: operand(of: name, depth: depth)))
        }
        return .object(members)
    }

    private mutating func operand(of name: String, depth: Int) -> JSONValue {
        switch name {
        case "$in", "$nin": .array((0..<below(4)).map { _ in literal() })
        case "$exists": .bool(below(2) == 0)
        case "$type":
            .string(
                Array(
                    pick(["null", "bool", "number", "string", "object", "array", "int", "long", "double"]).utf8))
        case "$size": .integer(Int64(below(3)))
        case "$mod": .array([.integer(pick([1, 2, 3, -1, -2])), .integer(pick([0, 1, -1]))])
        case "$not": operators(depth: max(0, depth - 1))
        case "$all": all(depth: depth)
        case "$elemMatch": elementCondition(depth: depth)
        default: literal()
        }
    }

    private mutating func all(depth: Int) -> JSONValue {
        let isOfOperators = below(3) == 0
        return .array((0..<below(3)).map { _ in isOfOperators ? elementMatch(depth: depth) : literal() })
    }

    private mutating func elementMatch(depth: Int) -> JSONValue {
        .object([.init(name: Array("$elemMatch".utf8), value: elementCondition(depth: depth))])
    }

    private mutating func elementCondition(depth: Int) -> JSONValue {
        if depth == 0 { return .object([.init(name: Array("$eq".utf8), value: scalar())]) }
        return below(2) == 0 ? operators(depth: depth - 1) : filter(depth: depth - 1)
    }
}
