import HoldfastQuery

/// Filters evaluated on trees, by listing every value that a path leads to. Written without regard to the
/// library's compiler and matcher, so that they can be held against it.
enum TreeEvaluation {
    /// A value that a path leads to; nil stands for "missing".
    private struct Leaf {
        let value: JSONValue?
        /// Picked by its index, and so not looked into.
        var isPicked = false
    }

    static func matches(_ document: JSONValue, _ filter: JSONValue) -> Bool {
        members(filter).allSatisfy { name, operand in
            switch name {
            case "$and": elements(operand).allSatisfy { matches(document, $0) }
            case "$or": elements(operand).contains { matches(document, $0) }
            case "$nor": !elements(operand).contains { matches(document, $0) }
            default:
                condition(leaves(document, name.split(separator: ".", omittingEmptySubsequences: false)[...]), operand)
            }
        }
    }

    private static func condition(_ leaves: [Leaf], _ operand: JSONValue) -> Bool {
        guard members(operand).contains(where: { $0.name.hasPrefix("$") }) else { return holds(leaves, "$eq", operand) }
        return members(operand).allSatisfy { holds(leaves, $0.name, $0.value) }
    }

    private static func holds(_ leaves: [Leaf], _ operation: String, _ operand: JSONValue) -> Bool {
        func some(expanding: Bool = true, _ test: (JSONValue?) -> Bool) -> Bool {
            leaves.contains { leaf in
                if test(leaf.value) { return true }
                guard expanding, !leaf.isPicked, let value = leaf.value else { return false }
                return elements(value).contains(where: test)
            }
        }
        switch operation {
        case "$eq": return some { PlainOrder.order($0 ?? .null, operand) == 0 }
        case "$ne": return !holds(leaves, "$eq", operand)
        case "$gt": return some { compare($0, operand) { $0 > 0 } }
        case "$gte": return some { compare($0 ?? .null, operand) { $0 >= 0 } }
        case "$lt": return some { compare($0, operand) { $0 < 0 } }
        case "$lte": return some { compare($0 ?? .null, operand) { $0 <= 0 } }
        case "$in": return elements(operand).contains { holds(leaves, "$eq", $0) }
        case "$nin": return !holds(leaves, "$in", operand)
        case "$exists": return some(expanding: false) { $0 != nil } == (operand == .bool(true))
        case "$type": return some { types($0).contains(string(operand)) }
        case "$mod": return some { remainder($0, elements(operand)) }
        case "$size":
            return some(expanding: false) { value in
                guard case .array(let elements)? = value else { return false }
                return .integer(Int64(elements.count)) == operand
            }
        case "$all":
            return !elements(operand).isEmpty
                && elements(operand).allSatisfy { element in
                    let inner = members(element)
                    return inner.first?.name == "$elemMatch"
                        ? holds(leaves, "$elemMatch", inner[0].value) : holds(leaves, "$eq", element)
                }
        case "$not": return !condition(leaves, operand)
        case "$elemMatch":
            let first = members(operand).first?.name ?? ""
            let isLogical = ["$and", "$or", "$nor"].contains(first)
            return some(expanding: false) { value in
                elements(value ?? .null).contains { element in
                    if first.hasPrefix("$") && !isLogical {
                        return condition([Leaf(value: element, isPicked: true)], operand)
                    }
                    switch element {
                    case .object: return matches(element, operand)
                    case .array(let elements): return matches(numbered(elements), operand)
                    default: return false
                    }
                }
            }
        default: fatalError("no such operator: \(operation)")
        }
    }

    // MARK: Values

    private static func compare(_ value: JSONValue?, _ operand: JSONValue, _ isMeant: (Int) -> Bool) -> Bool {
        guard let value, PlainOrder.rank(value) == PlainOrder.rank(operand) else { return false }
        return isMeant(PlainOrder.order(value, operand))
    }

    private static func types(_ value: JSONValue?) -> [String] {
        switch value {
        case nil: []
        case .null?: ["null"]
        case .bool?: ["bool"]
        case .string?: ["string"]
        case .object?: ["object"]
        case .array?: ["array"]
        case .real?: ["number", "double"]
        case .integer(let integer)?: ["number", Int32(exactly: integer) != nil ? "int" : "long"]
        }
    }

    private static func remainder(_ value: JSONValue?, _ numbers: [JSONValue]) -> Bool {
        guard case .integer(let divisor) = numbers[0], case .integer(let remainder) = numbers[1] else { return false }
        switch value {
        case .integer(let integer)?: return divisor == -1 ? remainder == 0 : integer % divisor == remainder
        case .real(let real)?:
            guard real.magnitude < 0x1p63 else { return false }
            return divisor == -1 ? remainder == 0 : Int64(real) % divisor == remainder
        default: return false
        }
    }

    private static func members(_ value: JSONValue) -> [(name: String, value: JSONValue)] {
        guard case .object(let members) = value else { return [] }
        return members.map { (String(decoding: $0.name, as: UTF8.self), $0.value) }
    }

    private static func elements(_ value: JSONValue) -> [JSONValue] {
        guard case .array(let elements) = value else { return [] }
        return elements
    }

    private static func string(_ value: JSONValue) -> String {
        guard case .string(let bytes) = value else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// An array as an object whose names are the indexes.
    private static func numbered(_ elements: [JSONValue]) -> JSONValue {
        .object(elements.enumerated().map { .init(name: Array(String($0.offset).utf8), value: $0.element) })
    }

    // MARK: Paths

    private static func leaves(_ value: JSONValue, _ path: ArraySlice<Substring>) -> [Leaf] {
        guard case .object(let members) = value else { return [Leaf(value: nil)] }
        guard let found = members.first(where: { $0.name == Array(path.first!.utf8) })?.value else {
            return [Leaf(value: nil)]
        }
        let rest = path.dropFirst()
        if rest.isEmpty { return [Leaf(value: found)] }
        if case .array(let elements) = found { return inside(elements, rest) }
        return leaves(found, rest)
    }

    /// What the path leads to from within an array: through its objects, and by an index.
    private static func inside(_ elements: [JSONValue], _ path: ArraySlice<Substring>) -> [Leaf] {
        var result: [Leaf] = []
        for element in elements {
            if case .object = element { result += leaves(element, path) }
        }
        if let index = Int(path.first!), String(index) == path.first!, elements.indices.contains(index) {
            let element = elements[index]
            let rest = path.dropFirst()
            if rest.isEmpty {
                result.append(Leaf(value: element, isPicked: true))
            } else if case .array(let nested) = element {
                result += inside(nested, rest)
            } else if case .object = element {
                result += leaves(element, rest)
            }
        }
        return result
    }
}
