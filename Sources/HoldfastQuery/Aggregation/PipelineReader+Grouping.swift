internal import HoldfastEnvironment

/// Reading the stages that bring documents together.
extension PipelineReader {
    private static let id = Array("_id".utf8)

    mutating func group(_ place: StagePlace, _ value: JSONValue) throws(HoldfastError) -> Pipeline.Stage {
        guard case .object(let members) = value else {
            throw place.refusal("takes an object with \"_id\" and accumulators, not \(value.typeInWords)")
        }
        guard let id = members.first(where: { $0.name == Self.id }) else {
            throw place.refusal("has no \"_id\": give the key, or {\"_id\": null} for one group of all", path: "_id")
        }
        var (key, reads) = try expression(id.value, place, "_id")
        let fields = try self.fields(members.filter { $0.name != Self.id }, place, nil, &reads)
        return groups(place, Grouping(key: .expression(key), fields: fields), reads)
    }

    mutating func sortByCount(_ place: StagePlace, _ value: JSONValue) throws(HoldfastError) -> [Pipeline.Stage] {
        switch value {
        case .string(let text) where text.first == UInt8(ascii: "$"): break
        case .object(let members) where members.count == 1 && members[0].name.first == UInt8(ascii: "$"): break
        default:
            throw place.refusal(
                "takes a path, as \"$country\", or an expression, not \(value.typeInWords) of another form")
        }
        let (key, reads) = try expression(value, place, nil)
        let count = try countField(place)
        let path = try Path(count.name, what: Self.what)
        return [
            groups(place, Grouping(key: .expression(key), fields: [count]), reads),
            stage(
                place, .sort([Pipeline.SortField(path: path, descending: true)]), reads: FieldUse(names: [count.name])),
        ]
    }

    mutating func bucket(_ place: StagePlace, _ value: JSONValue) throws(HoldfastError) -> Pipeline.Stage {
        let members = try self.members(
            value, place, ["groupBy", "boundaries", "default", "output"], required: ["groupBy", "boundaries"])
        var (groupBy, reads) = try expression(members["groupBy"]!, place, "groupBy")
        guard case .array(let boundaries)? = try constant(members["boundaries"]!, place, "boundaries"),
            boundaries.count >= 2
        else { throw place.refusal("takes an array of at least two constant values", path: "boundaries") }
        let keys = boundaries.map { boundary in
            var key = OrderedKey()
            key.append(boundary)
            return key
        }
        for (index, boundary) in boundaries.enumerated().dropFirst() {
            guard boundary.kind == boundaries[0].kind, keys[index - 1] < keys[index] else {
                throw place.refusal("takes values of one type, ascending, none twice", path: "boundaries.\(index)")
            }
        }
        var otherwise: JSONValue?
        if let value = members["default"] {
            guard let value = try constant(value, place, "default") else {
                throw place.refusal("takes a constant value", path: "default")
            }
            var key = OrderedKey()
            key.append(value)
            guard key < keys[0] || !(key < keys[keys.count - 1]) else {
                throw place.refusal("takes a value below all boundaries, or from the last one on", path: "default")
            }
            otherwise = value
        }
        var fields: [Grouping.Field] = []
        if let output = members["output"] {
            guard case .object(let members) = output else {
                throw place.refusal("takes an object of accumulators, not \(output.typeInWords)", path: "output")
            }
            fields = try self.fields(members, place, "output", &reads)
        } else {
            fields = [try countField(place)]
        }
        let bucket = Grouping.Bucket(value: groupBy, boundaries: boundaries, keys: keys, otherwise: otherwise)
        return groups(place, Grouping(key: .bucket(bucket), fields: fields), reads)
    }

    private mutating func groups(
        _ place: StagePlace, _ grouping: Grouping, _ reads: FieldUse
    ) -> Pipeline.Stage {
        key = Self.id
        return stage(place, .group(grouping), reads: reads)
    }

    private mutating func constant(
        _ value: JSONValue, _ place: StagePlace, _ location: String
    ) throws(HoldfastError) -> JSONValue? { try expression(value, place, location).expression.constant }

    private mutating func countField(_ place: StagePlace) throws(HoldfastError) -> Grouping.Field {
        let sum = JSONValue.object([JSONValue.Member(name: Array("$sum".utf8), value: .integer(1))])
        var reads = FieldUse.nothing
        return try fields([JSONValue.Member(name: Array("count".utf8), value: sum)], place, nil, &reads)[0]
    }

    /// Members that accumulators make.
    private mutating func fields(
        _ members: [JSONValue.Member], _ place: StagePlace, _ location: String?, _ reads: inout FieldUse
    ) throws(HoldfastError) -> [Grouping.Field] {
        var fields: [Grouping.Field] = []
        for member in members {
            let name = try memberName(.string(member.name), place)
            let location = [place.name, location, String(decoding: name, as: UTF8.self)].compactMap(\.self)
            let accumulation = try Accumulation(
                member.value, at: location.joined(separator: "."), in: Self.what, parameters: parameters)
            use(accumulation.expression.parameters)
            reads.insert(expression: member.value)
            fields.append(Grouping.Field(name: name, accumulation: accumulation))
        }
        return fields
    }
}
