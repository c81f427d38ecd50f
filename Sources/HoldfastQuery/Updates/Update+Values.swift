package import HoldfastEnvironment

extension UpdateApplication {
    /// Appends what a leaf makes of the value that is there. A call, as the others beside it, because the function that calls
    /// it calls itself, and would take the stack of both once a level.
    @inline(never)
    func change(
        _ leaf: Update.Leaf, _ value: Range<Int>, isInArray: Bool, _ output: inout [UInt8]
    ) throws(HoldfastError) {
        switch leaf.operation {
        case .set(let new): append(new, &output)
        case .unset:
            // An object loses the member before it comes to this. In an array the others must keep their indexes.
            output.append(contentsOf: "null".utf8)
        case .increase(_, let amount): try calculate(leaf, value, amount, &output)
        case .multiply(let factor): try calculate(leaf, value, factor, &output)
        case .replace(let new, let key, let ifLess):
            let present = try target.key(at: value.lowerBound)
            if ifLess ? key < present : present < key { append(new, &output) } else { keep(value, &output) }
        case .push(let values, let position, let slice):
            try push(values, position, slice, leaf, value, &output)
        case .addToSet(let values, let indexes): try addToSet(values, indexes, leaf, value, &output)
        case .pull(let pull): try self.pull(pull, leaf, value, &output)
        case .move(let number):
            if moved[number] == nil { keep(value, &output) } else { try create(leaf, isInArray: isInArray, &output) }
        }
    }

    /// Appends what a leaf makes where there is nothing.
    func create(_ leaf: Update.Leaf, isInArray: Bool, _ output: inout [UInt8]) throws(HoldfastError) {
        switch leaf.operation {
        case .set(let value), .increase(let value, _), .replace(let value, _, _): append(value, &output)
        case .multiply(.integer): output.append(UInt8(ascii: "0"))
        case .multiply(.real): output.append(contentsOf: "0.0".utf8)
        case .push(let values, _, let slice):
            append(elements: values[Self.kept(of: values.count, slice)], &output)
        case .addToSet(let values, _): append(elements: values[...], &output)
        case .move(let number):
            if isInArray { throw leaf.isInArray() }
            guard let value = moved[number] else { return }
            let depth = leaf.path.parts.count + (try target.depth(of: value))
            guard depth <= update.limits.maxDepth else {
                throw leaf.refusal(
                    "would nest \(depth) arrays and objects, and the store allows "
                        + "\(update.limits.maxDepth): store less deep, or raise max_depth")
            }
            keep(value, &output)
        case .unset, .pull: break
        }
    }

    private func append(_ value: Range<Int>, _ output: inout [UInt8]) { output.append(contentsOf: update.text[value]) }

    private func append(elements: ArraySlice<Range<Int>>, _ output: inout [UInt8]) {
        output.append(UInt8(ascii: "["))
        for (index, value) in elements.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            append(value, &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    private func keep(_ value: Range<Int>, _ output: inout [UInt8]) {
        output.append(contentsOf: target.walker.bytes(value.lowerBound, value.upperBound))
    }

    // MARK: Numbers

    /// Integers exactly, or not at all; with a real number among them, doubles.
    private func calculate(
        _ leaf: Update.Leaf, _ value: Range<Int>, _ operand: JSONNumber, _ output: inout [UInt8]
    ) throws(HoldfastError) {
        let kind = try target.kind(at: value.lowerBound)
        guard kind == .number else { throw leaf.needs("a number", not: kind) }
        let present = try target.number(at: value.lowerBound)
        let isSum = if case .increase = leaf.operation { true } else { false }
        var writer = JSONWriter()
        switch (present, operand) {
        case (.integer(let a), .integer(let b)):
            let (result, overflows) = isSum ? a.addingReportingOverflow(b) : a.multipliedReportingOverflow(by: b)
            guard !overflows else {
                throw leaf.refusal(
                    "leaves the range of 64-bit integers: \(a) \(isSum ? "plus" : "times") \(b). Keep it as a real "
                        + "number, such as 1.0, where rounding does no harm")
            }
            if result == a { return keep(value, &output) }
            writer.integer(result)
        default:
            let (a, b) = (present.double, operand.double)
            let result = isSum ? a + b : a * b
            guard result.isFinite else {
                throw leaf.refusal("leaves the range of doubles: \(a) \(isSum ? "plus" : "times") \(b)")
            }
            if case .real = present, result == a { return keep(value, &output) }
            writer.real(result)
        }
        output.append(contentsOf: writer.bytes)
    }

    // MARK: Arrays

    /// Which of so many elements `$slice` keeps: the first ones, or with a negative number the last.
    private static func kept(of count: Int, _ slice: Int64?) -> Range<Int> {
        guard let slice else { return 0..<count }
        let size = Int(min(slice.magnitude, UInt64(count)))
        return slice < 0 ? count - size..<count : 0..<size
    }

    private func requireArray(_ leaf: Update.Leaf, _ value: Range<Int>) throws(HoldfastError) {
        let kind = try target.kind(at: value.lowerBound)
        guard kind == .array else { throw leaf.needs("an array", not: kind) }
    }

    private func push(
        _ values: [Range<Int>], _ position: Int64?, _ slice: Int64?, _ leaf: Update.Leaf, _ array: Range<Int>,
        _ output: inout [UInt8]
    ) throws(HoldfastError) {
        try requireArray(leaf, array)
        var count = 0
        if position != nil || slice != nil { _ = try target.elements(of: array.lowerBound) { _, _ in count += 1 } }
        // Where the new ones come, and what is kept of all, counted with the new ones in their place.
        var insertion = Int.max
        if let position {
            let size = Int(min(position.magnitude, UInt64(count)))
            insertion = position < 0 ? count - size : size
        }
        let kept = slice == nil ? 0..<Int.max : Self.kept(of: count + values.count, slice)

        var rewriter = ContainerRewriter(target.walker, opening: array.lowerBound)
        var index = 0
        func addNew(_ rewriter: inout ContainerRewriter, _ output: inout [UInt8]) {
            for value in values {
                if kept.contains(index) {
                    rewriter.add(&output)
                    append(value, &output)
                }
                index += 1
            }
        }
        var isAdded = false
        let end = try target.elements(of: array.lowerBound) { element, end in
            if !isAdded && index == insertion {
                addNew(&rewriter, &output)
                isAdded = true
            }
            if kept.contains(index) {
                rewriter.keep(from: element, to: end, &output)
            } else {
                rewriter.remove(from: element, to: end, &output)
            }
            index += 1
        }
        if !isAdded { addNew(&rewriter, &output) }
        rewriter.finish(at: end, &output)
    }

    private func addToSet(
        _ values: [Range<Int>], _ indexes: [OrderedKey: Int], _ leaf: Update.Leaf, _ array: Range<Int>,
        _ output: inout [UInt8]
    ) throws(HoldfastError) {
        try requireArray(leaf, array)
        var isThere = [Bool](repeating: false, count: values.count)
        var rewriter = ContainerRewriter(target.walker, opening: array.lowerBound)
        var key = OrderedKey()
        let end = try target.elements(of: array.lowerBound) { element, end throws(HoldfastError) in
            rewriter.keep(from: element, to: end, &output)
            try target.setKey(&key, at: element)
            if let index = indexes[key] { isThere[index] = true }
        }
        for (index, value) in values.enumerated() where !isThere[index] {
            rewriter.add(&output)
            append(value, &output)
        }
        rewriter.finish(at: end, &output)
    }

    private func pull(
        _ pull: Update.Pull, _ leaf: Update.Leaf, _ array: Range<Int>, _ output: inout [UInt8]
    ) throws(HoldfastError) {
        try requireArray(leaf, array)
        var rewriter = ContainerRewriter(target.walker, opening: array.lowerBound)
        var key = OrderedKey()
        let end = try target.elements(of: array.lowerBound) { element, end throws(HoldfastError) in
            if try holds(pull, element..<end, &key) {
                rewriter.remove(from: element, to: end, &output)
            } else {
                rewriter.keep(from: element, to: end, &output)
            }
        }
        rewriter.finish(at: end, &output)
    }

    private func holds(
        _ pull: Update.Pull, _ element: Range<Int>, _ key: inout OrderedKey
    ) throws(HoldfastError) -> Bool {
        let bytes = target.walker.bytes(element.lowerBound, element.upperBound)
        switch pull {
        case .equal(let unwanted):
            try target.setKey(&key, at: element.lowerBound)
            return key == unwanted
        case .matching(let filter):
            guard try target.kind(at: element.lowerBound) == .object else { return false }
            return try filter.matches(bytes)
        case .matchingAs(let name, let filter):
            return try Update.Pull.wrap(bytes, in: name).withBytes { bytes throws(HoldfastError) in
                try filter.matches(bytes)
            }
        }
    }
}

// MARK: Refusals, which tell path, operator and cure

extension Update.Leaf {
    package func refusal(_ reason: String) -> HoldfastError {
        HoldfastError(
            .invalidEntity, "\"\(name)\" of \"\(path.text)\" \(reason)",
            detail: [("path", .text(path.text)), ("operator", .text(name))])
    }

    fileprivate func needs(_ needed: String, not kind: JSONKind) -> HoldfastError {
        refusal("needs \(needed), and there is \(kind.inWords): make it one with \"$set\" first")
    }

    /// `depth` counts the parts that lead to the value which no path can continue through.
    package func isBlocked(byA kind: JSONKind, depth: Int) -> HoldfastError {
        let parent = path.text(ofFirst: depth)
        return refusal(
            kind == .array
                ? "does not name an element of the array \"\(parent)\": continue its path with an index, such as "
                    + "\"\(parent).0\""
                : "cannot be created, because \"\(parent)\" is \(kind.inWords): make it an object with \"$set\" first")
    }

    func isInArray() -> HoldfastError {
        refusal("leads through an array, whose elements cannot be renamed: use \"$set\" and \"$unset\"")
    }

    func isTooFar(_ index: Int, limit: Int) -> HoldfastError {
        refusal(
            "would fill the array up to index \(index), beyond the \(limit) bytes that the store allows: append with "
                + "\"$push\"")
    }
}

extension JSONKind {
    /// With its article, for messages.
    fileprivate var inWords: String {
        switch self {
        case .null: "null"
        case .boolean: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
