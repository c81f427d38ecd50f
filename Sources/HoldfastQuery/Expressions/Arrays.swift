internal import HoldfastEnvironment

extension ExpressionPlace {
    func array(_ value: JSONValue?) throws(HoldfastError) -> [JSONValue] {
        guard case .array(let elements)? = value else { throw needs("an array", not: value) }
        return elements
    }

    /// Nil for null and what is missing.
    func arrayOrNull(_ value: JSONValue?) throws(HoldfastError) -> [JSONValue]? {
        value.isNullish ? nil : try array(value)
    }
}

/// Operators of arrays.
enum Arrays {
    static let isArray: UnaryFunction = { operand, _, _ in
        if case .array? = operand { return .bool(true) }
        return .bool(false)
    }

    static let size: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        .integer(Int64(try place.array(operand).count))
    }

    // MARK: Elements

    /// A negative index counts from the end. What is beyond the array is missing.
    static let element: BinaryFunction = { array, index, place, _ throws(HoldfastError) in
        if index.isNullish { return .null }
        guard let elements = try place.arrayOrNull(array) else { return .null }
        let index = try place.whole(index, "the index")
        let position = index < 0 ? Int64(elements.count) + index : index
        return elements.indices.contains(Int(clamping: position)) ? elements[Int(position)] : nil
    }

    static let first: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        guard let elements = try place.arrayOrNull(operand) else { return .null }
        return elements.first
    }

    static let last: UnaryFunction = { operand, place, _ throws(HoldfastError) in
        guard let elements = try place.arrayOrNull(operand) else { return .null }
        return elements.last
    }

    /// The first so many elements, with a negative number the last, or so many from a position on.
    static let slice: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        if operands.contains(where: \.isNullish) { return .null }
        let elements = try place.array(operands[0])
        let number = Int(clamping: try place.whole(operands[1], operands.count == 2 ? "the number" : "the position"))
        var range: Range<Int>
        if operands.count == 2 {
            range =
                number < 0
                ? max(0, elements.count + max(number, -elements.count))..<elements.count
                : 0..<min(number, elements.count)
        } else {
            let count = Int(clamping: try place.whole(operands[2], "the number"))
            guard count > 0 else {
                throw place.refusal("takes a number of elements above 0, not \(count): give another")
            }
            let start = number < 0 ? elements.count + max(number, -elements.count) : min(number, elements.count)
            range = start..<start + min(count, elements.count - start)
        }
        try evaluation.spend(elements: range.count, place)
        return .array(Array(elements[range]))
    }

    // MARK: Searching

    static let contains: BinaryFunction = { value, array, place, evaluation throws(HoldfastError) in
        let elements = try place.array(array)
        // A loop that looks through the same array again and again is bounded, too.
        try evaluation.spend(elements.count, place)
        guard let value else { return .bool(false) }
        for element in elements where try element.order(value, place, &evaluation) == 0 { return .bool(true) }
        return .bool(false)
    }

    /// -1 where no element is equal.
    static let index: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        guard let elements = try place.arrayOrNull(operands[0]) else { return .null }
        let start = operands.count > 2 ? try Text.position(operands[2], "the start", place) : 0
        let end = min(operands.count > 3 ? try Text.position(operands[3], "the end", place) : .max, elements.count)
        try evaluation.spend(elements.count, place)
        guard let value = operands[1], start < end else { return .integer(-1) }
        for index in start..<end where try elements[index].order(value, place, &evaluation) == 0 {
            return .integer(Int64(index))
        }
        return .integer(-1)
    }

    // MARK: New arrays

    static let concatenate: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        var count = 0
        for operand in operands {
            guard let elements = try place.arrayOrNull(operand) else { return .null }
            count += elements.count
        }
        try evaluation.spend(elements: count, place)
        var result: [JSONValue] = []
        result.reserveCapacity(count)
        for case .array(let elements)? in operands { result += elements }
        return .array(result)
    }

    static let reverse: UnaryFunction = { operand, place, evaluation throws(HoldfastError) in
        guard let elements = try place.arrayOrNull(operand) else { return .null }
        try evaluation.spend(elements: elements.count, place)
        return .array(elements.reversed())
    }

    static let range: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        let start = try place.whole(operands[0], "the start")
        let end = try place.whole(operands[1], "the end")
        let step = operands.count > 2 ? try place.whole(operands[2], "the step") : 1
        guard step != 0 else { throw place.refusal("takes a step other than 0: give another") }
        guard step > 0 ? start < end : start > end else { return .array([]) }
        let distance = (Int128(end) - Int128(start)).magnitude
        let count = (distance + UInt128(step.magnitude) - 1) / UInt128(step.magnitude)
        try evaluation.spend(elements: Int(clamping: count), place)
        return .array((0..<Int64(count)).map { .integer(start &+ $0 &* step) })
    }
}

/// Operators of arrays as sets, in which equal values stand once, where the first of them stood.
enum Sets {
    private static func key(_ value: JSONValue) -> OrderedKey {
        var key = OrderedKey()
        key.append(value)
        return key
    }

    /// What the keys take: elements that hold one value many times have it in each.
    private static func spend(
        _ elements: [JSONValue], _ place: ExpressionPlace, _ evaluation: inout Evaluation
    ) throws(HoldfastError) {
        try evaluation.spend(elements: 4 * elements.count, place)
        for element in elements { try evaluation.spend(walking: element, place) }
    }

    private static func keys(
        _ elements: [JSONValue], _ place: ExpressionPlace, _ evaluation: inout Evaluation
    ) throws(HoldfastError) -> Set<OrderedKey> {
        try spend(elements, place, &evaluation)
        return Set(elements.map(key))
    }

    static let union: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        var seen: Set<OrderedKey> = []
        var result: [JSONValue] = []
        for operand in operands {
            guard let elements = try place.arrayOrNull(operand) else { return .null }
            try spend(elements, place, &evaluation)
            try evaluation.spend(elements: elements.count, place)
            for element in elements where seen.insert(key(element)).inserted { result.append(element) }
        }
        return .array(result)
    }

    static let intersection: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        var result: [JSONValue] = []
        for (index, operand) in operands.enumerated() {
            guard let elements = try place.arrayOrNull(operand) else { return .null }
            var wanted = try keys(elements, place, &evaluation)
            try spend(index == 0 ? elements : result, place, &evaluation)
            // What was found once is not found again.
            result = (index == 0 ? elements : result).filter { wanted.remove(key($0)) != nil }
        }
        return .array(result)
    }

    static let difference: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        guard let left = try place.arrayOrNull(left), let right = try place.arrayOrNull(right) else { return .null }
        var seen = try keys(right, place, &evaluation)
        try spend(left, place, &evaluation)
        try evaluation.spend(elements: left.count, place)
        return .array(left.filter { seen.insert(key($0)).inserted })
    }

    static let isSubset: BinaryFunction = { left, right, place, evaluation throws(HoldfastError) in
        let left = try keys(place.array(left), place, &evaluation)
        return .bool(left.isSubset(of: try keys(place.array(right), place, &evaluation)))
    }

    static let areEqual: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        let first = try keys(place.array(operands[0]), place, &evaluation)
        for operand in operands.dropFirst() where try keys(place.array(operand), place, &evaluation) != first {
            return .bool(false)
        }
        return .bool(true)
    }
}
