import HoldfastQuery

/// MongoDB's order of values, compared on trees. Written without regard to the library's encodings, so that they can
/// be held against it.
enum PlainOrder {
    /// Negative, 0 or positive.
    static func order(_ left: JSONValue, _ right: JSONValue) -> Int {
        let types = rank(left) - rank(right)
        return types != 0 ? types : payload(left, right)
    }

    static func rank(_ value: JSONValue) -> Int {
        switch value {
        case .null: 0
        case .integer, .real: 1
        case .string: 2
        case .object: 3
        case .array: 4
        case .bool: 5
        }
    }

    /// Of two values of one type class.
    private static func payload(_ left: JSONValue, _ right: JSONValue) -> Int {
        switch (left, right) {
        case (.bool(let a), .bool(let b)): return (a ? 1 : 0) - (b ? 1 : 0)
        case (.string(let a), .string(let b)): return order(a, b)
        case (.array(let a), .array(let b)):
            for (a, b) in zip(a, b) where order(a, b) != 0 { return order(a, b) }
            return a.count - b.count
        case (.object(let a), .object(let b)):
            for (a, b) in zip(a, b) {
                let types = rank(a.value) - rank(b.value)
                if types != 0 { return types }
                let names = order(a.name, b.name)
                if names != 0 { return names }
                let values = payload(a.value, b.value)
                if values != 0 { return values }
            }
            return a.count - b.count
        default:
            guard let a = number(left), let b = number(right) else { return 0 }
            return a < b ? -1 : a > b ? 1 : 0
        }
    }

    private static func number(_ value: JSONValue) -> JSONNumber? {
        switch value {
        case .integer(let integer): .integer(integer)
        case .real(let real): .real(real)
        default: nil
        }
    }

    private static func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }
}
