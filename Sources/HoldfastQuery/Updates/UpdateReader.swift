internal import HoldfastEnvironment

extension Update {
    /// What happens at the end of a path. Ranges lie in the update's text.
    package enum Operation: Sendable {
        case set(Range<Int>)
        case unset
        case increase(Range<Int>, by: JSONNumber)
        case multiply(by: JSONNumber)
        /// `$min` and `$max`: the value, if it comes before the present one, or after it.
        case replace(Range<Int>, OrderedKey, ifLess: Bool)
        case push([Range<Int>], position: Int64?, slice: Int64?)
        /// The values, each once, and the index of each in the list.
        case addToSet([Range<Int>], indexes: [OrderedKey: Int])
        case pull(Pull)
        /// Take the value of this number in `moved`.
        case move(Int)
    }

    /// Which elements `$pull` removes.
    package enum Pull: Sendable {
        case equal(OrderedKey)
        /// Objects that match.
        case matching(Filter)
        /// Elements that match as the value of a member of this name.
        case matchingAs(member: [UInt8], Filter)

        /// An object with this one member.
        package static func wrap(_ value: UnsafeRawBufferPointer, in member: [UInt8]) -> [UInt8] {
            JSONWriter.object { writer in
                writer.member(utf8: member)
                writer.raw(value)
            }
        }
    }
}

/// Reads the text of an update into leaves. The text was checked to be a JSON object.
struct UpdateReader {
    static let operators = [
        "$set", "$unset", "$inc", "$mul", "$min", "$max", "$push", "$pull", "$addToSet", "$rename",
    ]

    let text: ItemWalker
    let key: [UInt8]
    let limits: PayloadLimits
    var leaves: [Update.Leaf] = []
    var moved: [Update.Path] = []

    mutating func read() throws(HoldfastError) {
        _ = try text.members(of: text.start()) { name, fields, _ throws(HoldfastError) in
            let name = String(decoding: try text.decode(name), as: UTF8.self)
            guard Self.operators.contains(name) else { throw unknown(name) }
            guard try text.kind(at: fields) == .object else {
                throw refusal("\"\(name)\" takes an object of paths, such as {\"\(name)\": {\"path\": …}}", name)
            }
            _ = try text.members(of: fields) { field, operand, end throws(HoldfastError) in
                try read(name, try path(text.decode(field), name), operand..<end)
            }
        }
    }

    private mutating func read(_ name: String, _ path: Update.Path, _ operand: Range<Int>) throws(HoldfastError) {
        let operation: Update.Operation
        switch name {
        case "$set":
            try checkDepth(of: operand, at: path, name, below: 0)
            operation = .set(operand)
        case "$unset": operation = .unset
        case "$inc": operation = .increase(operand, by: try number(operand, path, name))
        case "$mul": operation = .multiply(by: try number(operand, path, name))
        case "$min", "$max":
            try checkDepth(of: operand, at: path, name, below: 0)
            operation = .replace(operand, try text.key(at: operand.lowerBound), ifLess: name == "$min")
        case "$push": operation = try push(operand, path)
        case "$addToSet": operation = try addToSet(operand, path)
        case "$pull": operation = .pull(try pull(operand, path))
        default:
            guard try text.kind(at: operand.lowerBound) == .string else {
                throw refusal("\"$rename\" of \"\(path.text)\" takes the new path as a string", name, path)
            }
            let destination = try self.path(text.string(at: operand.lowerBound), name)
            leaves.append(Update.Leaf(path: destination, name: name, operation: .move(moved.count)))
            moved.append(path)
            operation = .unset
        }
        leaves.append(Update.Leaf(path: path, name: name, operation: operation))
    }

    // MARK: Operands

    private func number(_ operand: Range<Int>, _ path: Update.Path, _ name: String) throws(HoldfastError) -> JSONNumber
    {
        guard try text.kind(at: operand.lowerBound) == .number else {
            throw refusal("\"\(name)\" of \"\(path.text)\" takes a number", name, path)
        }
        return try text.number(at: operand.lowerBound)
    }

    private func push(_ operand: Range<Int>, _ path: Update.Path) throws(HoldfastError) -> Update.Operation {
        var position: Int64?
        var slice: Int64?
        let values = try values(operand, path, "$push") { modifier, value throws(HoldfastError) in
            guard modifier == "$position" || modifier == "$slice" else { return false }
            guard try text.kind(at: value) == .number, case .integer(let number) = try text.number(at: value) else {
                throw refusal("\"\(modifier)\" in \"$push\" of \"\(path.text)\" takes an integer", "$push", path)
            }
            if modifier == "$slice" { slice = number } else { position = number }
            return true
        }
        return .push(values, position: position, slice: slice)
    }

    private func addToSet(_ operand: Range<Int>, _ path: Update.Path) throws(HoldfastError) -> Update.Operation {
        let values = try values(operand, path, "$addToSet") { _, _ in false }
        var distinct: [Range<Int>] = []
        var indexes: [OrderedKey: Int] = [:]
        for value in values {
            let key = try text.key(at: value.lowerBound)
            if indexes[key] != nil { continue }
            indexes[key] = distinct.count
            distinct.append(value)
        }
        return .addToSet(distinct, indexes: indexes)
    }

    /// One value, or those of `$each`. `modifier` takes what else may stand beside it, or answers false.
    private func values(
        _ operand: Range<Int>, _ path: Update.Path, _ name: String,
        modifier: (_ name: String, _ value: Int) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> [Range<Int>] {
        var values: [Range<Int>]?
        var isModified = false
        if try text.kind(at: operand.lowerBound) == .object {
            var isPlain = false
            _ = try text.members(of: operand.lowerBound) { member, value, _ throws(HoldfastError) in
                let member = String(decoding: try text.decode(member), as: UTF8.self)
                if member.utf8.first != UInt8(ascii: "$") {
                    isPlain = true
                } else if member == "$each" {
                    values = try elements(value, path, name)
                } else {
                    isModified = true
                    guard try modifier(member, value) else {
                        throw refusal(
                            "\"\(member)\" is no modifier of \"\(name)\", given for \"\(path.text)\": put a value with "
                                + "such a member into \"$each\"", name, path)
                    }
                }
            }
            if isPlain ? values != nil || isModified : values == nil && isModified {
                throw refusal(
                    "\"\(name)\" of \"\(path.text)\" takes a value, or {\"$each\": […]} with modifiers, not a mixture",
                    name, path)
            }
        }
        let all = values ?? [operand]
        for value in all { try checkDepth(of: value, at: path, name, below: 1) }
        return all
    }

    private func elements(_ value: Int, _ path: Update.Path, _ name: String) throws(HoldfastError) -> [Range<Int>] {
        guard try text.kind(at: value) == .array else {
            throw refusal("\"$each\" in \"\(name)\" of \"\(path.text)\" takes an array", name, path)
        }
        var values: [Range<Int>] = []
        _ = try text.elements(of: value) { element, end in values.append(element..<end) }
        return values
    }

    private func pull(_ operand: Range<Int>, _ path: Update.Path) throws(HoldfastError) -> Update.Pull {
        guard try text.kind(at: operand.lowerBound) == .object else {
            return .equal(try text.key(at: operand.lowerBound))
        }
        let condition = text.walker.bytes(operand.lowerBound, operand.upperBound)
        // As in MongoDB the first member tells whether the condition is one of objects or of any value.
        var first: [UInt8]?
        _ = try text.members(of: operand.lowerBound) { name, _, _ throws(HoldfastError) in
            if first == nil { first = try text.decode(name) }
        }
        guard let first, first.first == UInt8(ascii: "$"),
            !["$and", "$or", "$nor"].contains(String(decoding: first, as: UTF8.self))
        else { return .matching(try filter(condition, path)) }
        let name = path.parts[path.parts.count - 1]
        let wrapped = Update.Pull.wrap(condition, in: name)
        return try wrapped.withBytes { bytes throws(HoldfastError) in
            .matchingAs(member: name, try filter(bytes, path))
        }
    }

    private func filter(_ condition: UnsafeRawBufferPointer, _ path: Update.Path) throws(HoldfastError) -> Filter {
        do throws(HoldfastError) {
            return try Filter.parse(
                condition, what: "\"$pull\" of \"\(path.text)\"",
                limits: PayloadLimits(maxBytes: limits.maxBytes, maxDepth: limits.maxDepth + 4))
        } catch {
            var error = error
            error.detail.removeAll { $0.name == "position" }  // which is one within the condition
            throw error
        }
    }

    /// That what is put at the end of a path, `below` so many arrays more, does not make an entity too deep.
    private func checkDepth(
        of value: Range<Int>, at path: Update.Path, _ name: String, below: Int
    ) throws(HoldfastError) {
        let depth = path.parts.count + below + (try text.depth(of: value))
        guard depth > limits.maxDepth else { return }
        throw HoldfastError(
            .invalidEntity,
            "\"\(name)\" of \"\(path.text)\" would nest \(depth) arrays and objects, and the store allows "
                + "\(limits.maxDepth): store less deep, or raise max_depth",
            detail: [("path", .text(path.text)), ("operator", .text(name))])
    }

    // MARK: Paths

    private func path(_ name: [UInt8], _ operation: String) throws(HoldfastError) -> Update.Path {
        let dots = name.count { $0 == UInt8(ascii: ".") }
        guard dots < Path.maxParts else {
            throw refusal(
                "a path of \"\(operation)\" has \(dots + 1) parts; \(Path.maxParts) are allowed", operation)
        }
        guard dots < limits.maxDepth else {
            throw refusal(
                "a path of \"\(operation)\" has \(dots + 1) parts, and entities are at most \(limits.maxDepth) deep",
                operation)
        }
        let path = Update.Path(
            parts: name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init))
        for part in path.parts {
            if part.isEmpty {
                throw refusal(
                    "the path \"\(path.text)\" of \"\(operation)\" has an empty part: write names with one dot between them",
                    operation, path)
            }
            if part.first == UInt8(ascii: "$") {
                throw refusal(
                    "the path \"\(path.text)\" of \"\(operation)\" has a part that begins with \"$\": name an element of "
                        + "an array by its index", operation, path)
            }
        }
        guard path.parts[0] != key else {
            throw HoldfastError(
                .invalidEntity,
                "\"\(operation)\" of \"\(path.text)\" would change the entity's id: leave \"\(path.text(ofFirst: 1))\" "
                    + "out of the update",
                detail: [("path", .text(path.text)), ("operator", .text(operation))])
        }
        return path
    }

    // MARK: Refusals

    private func unknown(_ name: String) -> HoldfastError {
        let supported = Self.operators.map { "\"\($0)\"" }.joined(separator: ", ")
        return HoldfastError(
            .invalidQuery,
            name.utf8.first == UInt8(ascii: "$")
                ? "unknown update operator \"\(name)\"; supported are \(supported)"
                : "\"\(name)\" is no update operator: write {\"$set\": {\"\(name)\": …}}, or use patch",
            detail: [("operator", .text(name)), ("supported", .texts(Self.operators))])
    }

    private func refusal(_ message: String, _ name: String, _ path: Update.Path? = nil) -> HoldfastError {
        var detail: [(name: String, value: HoldfastError.DetailValue)] = [("operator", .text(name))]
        if let path { detail.append(("path", .text(path.text))) }
        return HoldfastError(.invalidQuery, message, detail: detail)
    }
}
