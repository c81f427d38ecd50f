import HoldfastCore

/// Equality conditions evaluated on trees, by listing every value that a path leads to. Written
/// without regard to the library's matcher, so that the two can be held against each other.
enum TreeEvaluation {
    static func matches(_ document: JSONValue, _ path: [String], _ operand: JSONValue) -> Bool {
        values(document, path[...]).contains { value in
            guard let value else { return operand == .null }
            return equal(value, operand)
        }
    }

    /// The candidates of a path; nil stands for "missing".
    private static func values(_ value: JSONValue, _ path: ArraySlice<String>) -> [JSONValue?] {
        guard case .object(let members) = value else { return [nil] }
        guard let found = members.first(where: { $0.name == Array(path.first!.utf8) })?.value else { return [nil] }
        let rest = path.dropFirst()
        if rest.isEmpty {
            if case .array(let elements) = found { return elements + [found] }
            return [found]
        }
        if case .array(let elements) = found { return inside(elements, rest) }
        return values(found, rest)
    }

    /// What the path leads to from within an array: through its objects, and by an index.
    private static func inside(_ elements: [JSONValue], _ path: ArraySlice<String>) -> [JSONValue?] {
        var result: [JSONValue?] = []
        for element in elements {
            if case .object = element { result += values(element, path) }
        }
        if let index = Int(path.first!), String(index) == path.first!, elements.indices.contains(index) {
            let element = elements[index]
            let rest = path.dropFirst()
            if rest.isEmpty {
                result.append(element)
            } else if case .array(let nested) = element {
                result += inside(nested, rest)
            } else if case .object = element {
                result += values(element, rest)
            }
        }
        return result
    }

    private static func equal(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch (left, right) {
        case (.integer(let a), .real(let b)), (.real(let b), .integer(let a)): Int64(exactly: b) == a
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy(equal)
        case (.object(let a), .object(let b)):
            a.count == b.count && zip(a, b).allSatisfy { $0.name == $1.name && equal($0.value, $1.value) }
        default: left == right
        }
    }
}
