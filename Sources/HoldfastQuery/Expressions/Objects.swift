internal import HoldfastEnvironment

extension ExpressionPlace {
    fileprivate func object(_ value: JSONValue?) throws(HoldfastError) -> [JSONValue.Member] {
        guard case .object(let members)? = value else { throw needs("an object", not: value) }
        return members
    }
}

/// An object that is put together: a name that comes again gives its member the new value, in the old place.
struct ObjectBuilder {
    private(set) var members: [JSONValue.Member] = []
    private var positions: [[UInt8]: Int] = [:]

    /// Few names are found sooner without a table.
    private static let few = 8

    mutating func set(_ name: [UInt8], _ value: JSONValue) {
        let member = JSONValue.Member(name: name, value: value)
        if members.count == Self.few, positions.isEmpty {
            for (position, member) in members.enumerated() { positions[member.name] = position }
        }
        let known =
            members.count < Self.few && positions.isEmpty
            ? members.firstIndex { $0.name == name } : positions[name]
        if let known {
            members[known] = member
        } else {
            if members.count >= Self.few { positions[name] = members.count }
            members.append(member)
        }
    }
}

/// Operators of objects.
enum Objects {
    /// Null and what is missing add nothing.
    static let merge: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        var builder = ObjectBuilder()
        for operand in operands where !operand.isNullish {
            // One array of objects, as `$mergeObjects` is given one, merges as they do.
            var objects = [operand!]
            if operands.count == 1, case .array(let elements)? = operand { objects = elements }
            for object in objects where object.kind != .null {
                let members = try place.object(object)
                try evaluation.spend(elements: 4 * members.count, place)
                for member in members { builder.set(member.name, member.value) }
            }
        }
        return .object(builder.members)
    }

    private static let key = Array("k".utf8)
    private static let value = Array("v".utf8)

    /// `[{"k": name, "v": value}, ...]`.
    static let toArray: UnaryFunction = { operand, place, evaluation throws(HoldfastError) in
        if operand.isNullish { return .null }
        let members = try place.object(operand)
        try evaluation.spend(elements: 8 * members.count, place)
        return .array(
            members.map { member in
                .object([
                    JSONValue.Member(name: key, value: .string(member.name)),
                    JSONValue.Member(name: value, value: member.value),
                ])
            })
    }

    /// From what `toArray` makes, or from `[[name, value], ...]`.
    static let fromArray: UnaryFunction = { operand, place, evaluation throws(HoldfastError) in
        guard let elements = try place.arrayOrNull(operand) else { return .null }
        try evaluation.spend(elements: 8 * elements.count, place)
        var builder = ObjectBuilder()
        for element in elements {
            var name: JSONValue?
            var content: JSONValue?
            switch element {
            case .array(let pair) where pair.count == 2: (name, content) = (pair[0], pair[1])
            case .object(let members) where members.count == 2:
                name = members.first { $0.name == key }?.value
                content = members.first { $0.name == value }?.value
            default: break
            }
            guard case .string(let name)? = name, let content else {
                throw place.refusal(
                    "takes an array of [name, value] or {\"k\": name, \"v\": value} with strings for names: make each element "
                        + "one of these")
            }
            builder.set(name, content)
        }
        return .object(builder.members)
    }

    // MARK: Members by name, which may have dots and dollar signs

    static let compileGet: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        guard case .object(let members) = value, !members.contains(where: { $0.name.first == UInt8(ascii: "$") }) else {
            return Binary(try compiler.expression(value), PathOfDocument([], place), getField, place)
        }
        let given = try compiler.members(value, required: ["field"], optional: ["input"], place)
        let field = try compiler.expression(given[0]!, below: "field")
        var input: any ExpressionNode = PathOfDocument([], place)
        if let value = given[1] { input = try compiler.expression(value, below: "input") }
        return Binary(field, input, getField, place)
    }

    private static let getField: BinaryFunction = { field, input, place, _ throws(HoldfastError) in
        guard case .string(let name)? = field else { throw place.needs("a string for the name", not: field) }
        switch input {
        case .object(let members)?: return members.first { $0.name == name }?.value
        case .null?: return .null
        default: return nil
        }
    }

    static let compileSet: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["field", "input", "value"], place)
        let field = try fieldName(&compiler, members[0]!, place)
        let nodes = [
            field, try compiler.expression(members[1]!, below: "input"),
            try compiler.expression(members[2]!, below: "value"),
        ]
        return Variadic(nodes, setField, place)
    }

    static let compileUnset: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["field", "input"], place)
        let field = try fieldName(&compiler, members[0]!, place)
        return Variadic([field, try compiler.expression(members[1]!, below: "input"), Constant(nil)], setField, place)
    }

    /// One that does not depend on the document.
    private static func fieldName(
        _ compiler: inout ExpressionCompiler, _ value: JSONValue, _ place: ExpressionPlace
    ) throws(HoldfastError) -> any ExpressionNode {
        let node = try compiler.expression(value, below: "field")
        guard case .string? = (node as? Constant)?.value else {
            throw place.needsLiteral("a string, or {\"$literal\": \"...\"}, for \"field\"", not: value)
        }
        return node
    }

    private static let setField: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        if operands[1].isNullish { return .null }
        guard case .string(let name)? = operands[0] else {
            throw place.needs("a string for the name", not: operands[0])
        }
        var members = try place.object(operands[1])
        try evaluation.spend(elements: 2 * members.count, place)
        let known = members.firstIndex { $0.name == name }
        switch (known, operands[2]) {
        case (let known?, let value?): members[known] = JSONValue.Member(name: name, value: value)
        case (let known?, nil): members.remove(at: known)
        case (nil, let value?): members.append(JSONValue.Member(name: name, value: value))
        case (nil, nil): break
        }
        return .object(members)
    }
}
