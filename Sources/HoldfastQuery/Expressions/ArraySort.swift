internal import HoldfastEnvironment

/// `$sortArray`: by the elements themselves, or by values in them. Equal elements keep their order.
final class ArraySort: ExpressionNode {
    private let input: any ExpressionNode
    /// Of no names where the elements themselves are compared.
    private let keys: [(names: [[UInt8]], descending: Bool)]
    private let place: ExpressionPlace

    private init(
        _ input: any ExpressionNode, _ keys: [(names: [[UInt8]], descending: Bool)], _ place: ExpressionPlace
    ) {
        self.input = input
        self.keys = keys
        self.place = place
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["input", "sortBy"], place)
        var keys: [(names: [[UInt8]], descending: Bool)] = []
        switch members[1]! {
        case .object(let paths) where !paths.isEmpty:
            for path in paths {
                let parts = try Path(path.name, what: compiler.what).parts
                keys.append((parts.map(\.name), try descending(path.value, place)))
            }
        case let direction: keys.append(([], try descending(direction, place)))
        }
        return ArraySort(try compiler.expression(members[0]!, below: "input"), keys, place)
    }

    private static func descending(_ value: JSONValue, _ place: ExpressionPlace) throws(HoldfastError) -> Bool {
        switch value.number?.whole {
        case 1: return false
        case -1: return true
        default:
            throw place.refusal("takes 1 or -1, or an object of paths with 1 or -1, for \"sortBy\": write one of them")
        }
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        guard let elements = try place.arrayOrNull(input.evaluate(&evaluation)) else { return .null }
        try evaluation.spend(elements: 5 * elements.count, place)
        var keyed: [(key: OrderedKey, index: Int)] = []
        keyed.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            // What is sorted may hold one value many times, and its keys do not.
            try evaluation.spend(walking: element, place)
            keyed.append((key(of: element), index))
        }
        keyed.sort { ($0.key, $0.index) < ($1.key, $1.index) }
        return .array(keyed.map { elements[$0.index] })
    }

    private func key(of element: JSONValue) -> OrderedKey {
        var key = OrderedKey()
        for (names, descending) in keys {
            guard let value = element.value(at: names[...]) else {
                key.appendMissing(descending: descending)
                continue
            }
            // Of an array in an element the least or the greatest of its own elements counts, as it does in a sort of documents.
            guard !names.isEmpty, case .array(let values) = value else {
                key.append(value, descending: descending)
                continue
            }
            let chosen = descending ? values.max { $0.order($1) < 0 } : values.min { $0.order($1) < 0 }
            if let chosen {
                key.append(chosen, descending: descending)
            } else {
                key.appendEmptyArray(descending: descending)
            }
        }
        return key
    }
}
