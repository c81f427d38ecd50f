internal import HoldfastEnvironment

/// Reads the language of pipelines: a parsed JSON array becomes stages.
struct PipelineReader {
    static let what = "pipeline"

    /// The stages that there are, as messages list them.
    static let names = [
        "$match", "$group", "$sort", "$limit", "$skip", "$project", "$set", "$addFields", "$unset", "$unwind", "$count",
        "$sortByCount", "$bucket", "$lookup", "$replaceRoot", "$replaceWith",
    ]

    /// The member that a projection keeps unless it is told otherwise: that of the entities' ids, and "_id" of groups.
    var key: [UInt8]
    let parameters: [[UInt8]: JSONValue]
    private let given: [JSONValue.Member]
    /// What the repository's text index is over, if it has one.
    private let text: () throws(HoldfastError) -> TextDefinition?
    private var used: Set<[UInt8]> = []
    /// How the value that is being read is reached from the pipeline's top, so that an error can tell its position.
    private(set) var trail: [FilterCompiler.Step] = []
    private var meansName = false

    init(
        key: String, parameters: [JSONValue.Member], text: @escaping () throws(HoldfastError) -> TextDefinition?
    ) {
        self.text = text
        self.key = Array(key.utf8)
        given = parameters
        self.parameters = [[UInt8]: JSONValue](parameters.map { ($0.name, $0.value) }) { first, _ in first }
    }

    mutating func pipeline(_ value: JSONValue, maxStages: Int) throws(HoldfastError) -> Pipeline {
        guard case .array(let elements) = value else {
            throw HoldfastError(
                .invalidQuery, "the pipeline must be a JSON array of stages, not \(value.typeInWords)")
        }
        guard elements.count <= maxStages else {
            let option = Pipeline.stagesOption
            throw HoldfastError(
                .invalidQuery,
                "the pipeline has \(elements.count) stages; \(maxStages) are allowed: bring some together, or raise the "
                    + "option \"\(option)\", of at most \(Pipeline.maxStages)",
                detail: [("option", .text(option)), ("limit", .number(UInt64(maxStages)))])
        }
        var stages: [Pipeline.Stage] = []
        for (number, element) in elements.enumerated() {
            trail = [.element(number)]
            meansName = false
            guard case .object(let members) = element, members.count == 1 else {
                throw HoldfastError(
                    .invalidQuery,
                    "stage \(number) of the pipeline must be an object with one member, as {\"$match\": {...}}",
                    detail: [("stage", .number(UInt64(number)))])
            }
            let place = StagePlace(number: number, name: String(decoding: members[0].name, as: UTF8.self))
            trail.append(.member(members[0].name))
            do throws(HoldfastError) {
                stages += try self.stages(place, members[0].value)
            } catch { throw place.located(error) }
        }
        trail = []
        try requireUse()
        return Pipeline(stages: stages)
    }

    // MARK: Stages

    private mutating func stages(
        _ place: StagePlace, _ value: JSONValue
    ) throws(HoldfastError) -> [Pipeline.Stage] {
        switch place.name {
        case "$match": return try match(place, value)
        case "$group": return [try group(place, value)]
        case "$bucket": return [try bucket(place, value)]
        case "$sortByCount": return try sortByCount(place, value)
        case "$sort": return [try sort(place, value)]
        case "$limit": return [stage(place, .limit(try count(place, value, in: 1...(1 << 53))))]
        case "$skip": return [stage(place, .skip(try count(place, value, in: 0...(1 << 53))))]
        case "$project": return [try projection(.project, place, value)]
        case "$set", "$addFields": return [try projection(.set, place, value)]
        case "$unset": return [try unset(place, value)]
        case "$unwind": return [try unwind(place, value)]
        case "$count":
            let name = try memberName(value, place)
            key = Array("_id".utf8)
            return [stage(place, .count(name: name))]
        case "$lookup": return [try lookup(place, value)]
        case "$replaceRoot":
            let members = try self.members(value, place, ["newRoot"], required: ["newRoot"])
            return [try replaceRoot(place, members["newRoot"]!, "newRoot")]
        case "$replaceWith": return [try replaceRoot(place, value, nil)]
        default: throw unknown(place)
        }
    }

    func stage(
        _ place: StagePlace, _ operation: Pipeline.Operation, reads: FieldUse = .nothing
    ) -> Pipeline.Stage { Pipeline.Stage(place: place, operation: operation, reads: reads) }

    private mutating func match(
        _ place: StagePlace, _ value: JSONValue
    ) throws(HoldfastError) -> [Pipeline.Stage] {
        guard case .object(let members) = value else {
            throw place.refusal("takes a filter, a JSON object, not \(value.typeInWords)")
        }
        let isExpression = { (member: JSONValue.Member) in member.name.elementsEqual("$expr".utf8) }
        var stages: [Pipeline.Stage] = []
        let conditions = members.filter { !isExpression($0) }
        if !conditions.isEmpty || members.isEmpty {
            var compiler = FilterCompiler(what: Self.what, trail: trail)
            do throws(HoldfastError) {
                let template = try compiler.template(.object(conditions))
                used.formUnion(template.parameters)
                // Behind another stage there may be other words than those that the index has.
                if template.asksForText, place.number > 0 {
                    throw Operator.text.refusal(
                        "stands in the first stage only: search there, and go on with what is found", location: nil,
                        what: Self.what)
                }
                let filter = try template.bind(
                    given.filter { template.parameters.contains($0.name) },
                    text: template.asksForText ? try text() : nil)
                stages.append(stage(place, .match(filter), reads: filter.reads))
            } catch {
                (trail, meansName) = (compiler.trail, compiler.meansName)
                throw error
            }
        }
        for member in members where isExpression(member) {
            let condition = try expression(member.value, place, "$expr")
            stages.append(stage(place, .matchExpression(condition.expression), reads: condition.reads))
        }
        return stages
    }

    private mutating func sort(_ place: StagePlace, _ value: JSONValue) throws(HoldfastError) -> Pipeline.Stage {
        guard case .object(let members) = value, (1...32).contains(members.count) else {
            throw place.refusal(
                "takes an object of 1 to 32 paths, as {\"age\": -1, \"name\": 1}, not \(value.typeInWords) of another form"
            )
        }
        var fields: [Pipeline.SortField] = []
        var reads = FieldUse.nothing
        for member in members {
            trail.append(.member(member.name))
            let name = String(decoding: member.name, as: UTF8.self)
            guard let direction = try whole(member.value, place), direction == 1 || direction == -1 else {
                throw place.refusal("takes 1 (ascending) or -1 (descending)", path: name)
            }
            let path = try self.path(member.name, place)
            reads.insert(path.parts[0].name)
            fields.append(Pipeline.SortField(path: path, descending: direction == -1))
            trail.removeLast()
        }
        return stage(place, .sort(fields), reads: reads)
    }

    private mutating func count(
        _ place: StagePlace, _ value: JSONValue, in range: ClosedRange<Int64>
    ) throws(HoldfastError) -> UInt64 {
        guard let count = try whole(value, place), range.contains(count) else {
            throw place.refusal("takes a whole number from \(range.lowerBound) to 2^53")
        }
        return UInt64(count)
    }

    private mutating func unset(_ place: StagePlace, _ value: JSONValue) throws(HoldfastError) -> Pipeline.Stage {
        let names: [JSONValue] = if case .array(let names) = value { names } else { [value] }
        guard !names.isEmpty else { throw place.refusal("takes at least one path") }
        var members: [JSONValue.Member] = []
        for name in names {
            guard case .string(let text) = name else {
                throw place.refusal("takes a path, or an array of paths, not \(name.typeInWords)")
            }
            members.append(JSONValue.Member(name: text, value: .integer(0)))
        }
        return try projection(.unset, place, .object(members))
    }

    private mutating func unwind(_ place: StagePlace, _ value: JSONValue) throws(HoldfastError) -> Pipeline.Stage {
        var members: [String: JSONValue] = ["path": value]
        if case .object = value {
            members = try self.members(
                value, place, ["path", "includeArrayIndex", "preserveNullAndEmptyArrays"], required: ["path"])
        }
        guard case .string(let text)? = members["path"], text.first == UInt8(ascii: "$"),
            text.dropFirst().first != UInt8(ascii: "$")
        else { throw place.refusal("takes the path of an array, as \"$items\"", path: "path") }
        let path = try self.path(Array(text.dropFirst()), place)
        var index: Path?
        if let value = members["includeArrayIndex"] {
            guard case .string(let text) = value else {
                throw place.refusal("takes the name of a member, not \(value.typeInWords)", path: "includeArrayIndex")
            }
            index = try self.path(text, place)
        }
        var keepsEmpty = false
        if let value = members["preserveNullAndEmptyArrays"] {
            guard case .bool(let flag) = value else {
                throw place.refusal("takes true or false, not \(value.typeInWords)", path: "preserveNullAndEmptyArrays")
            }
            keepsEmpty = flag
        }
        return stage(
            place, .unwind(Unwinding(path, index: index, keepsEmpty: keepsEmpty)),
            reads: FieldUse(names: [path.parts[0].name]))
    }

    private mutating func lookup(_ place: StagePlace, _ value: JSONValue) throws(HoldfastError) -> Pipeline.Stage {
        let names = ["from", "localField", "foreignField", "as"]
        let members = try self.members(value, place, names, required: names)
        var texts: [String: [UInt8]] = [:]
        for name in names {
            guard case .string(let text)? = members[name], !text.isEmpty else {
                throw place.refusal("takes a text, not \(members[name]!.typeInWords)", path: name)
            }
            texts[name] = text
        }
        let local = try path(texts["localField"]!, place)
        let lookup = Pipeline.Lookup(
            from: String(decoding: texts["from"]!, as: UTF8.self), local: local,
            foreign: try path(texts["foreignField"]!, place),
            target: Projector(placingAt: try path(texts["as"]!, place)))
        return stage(place, .lookup(lookup), reads: FieldUse(names: [local.parts[0].name]))
    }

    private mutating func replaceRoot(
        _ place: StagePlace, _ value: JSONValue, _ location: String?
    ) throws(HoldfastError) -> Pipeline.Stage {
        let root = try expression(value, place, location)
        return stage(place, .replaceRoot(root.expression), reads: root.reads)
    }

    // MARK: Values

    /// An expression, and what it looks at. `location` is where it stands in the stage.
    mutating func expression(
        _ value: JSONValue, _ place: StagePlace, _ location: String?
    ) throws(HoldfastError) -> (expression: Expression, reads: FieldUse) {
        let expression = try Expression(
            value, at: [place.name, location].compactMap(\.self).joined(separator: "."), in: Self.what,
            parameters: parameters)
        used.formUnion(expression.parameters)
        var reads = FieldUse.nothing
        reads.insert(expression: value)
        return (expression, reads)
    }

    mutating func use(_ names: Set<[UInt8]>) { used.formUnion(names) }

    /// A value that no expression may stand for, but a parameter may.
    private mutating func whole(_ value: JSONValue, _ place: StagePlace) throws(HoldfastError) -> Int64? {
        var value = value
        if let name = value.parameterName {
            guard let given = parameters[name] else {
                throw place.refusal(
                    "has the parameter \"\(String(decoding: name, as: UTF8.self))\", which has no value: give it one")
            }
            used.insert(name)
            value = given
        }
        switch value {
        case .integer(let integer): return integer
        case .real(let real): return Int64(exactly: real)
        default: return nil
        }
    }

    /// A path of named parts.
    func path(_ text: [UInt8], _ place: StagePlace) throws(HoldfastError) -> Path {
        let shown = String(decoding: text, as: UTF8.self)
        let path = try Path(text, what: Self.what)
        guard path.parts.allSatisfy({ !$0.name.isEmpty && $0.name.first != UInt8(ascii: "$") }) else {
            throw place.refusal(
                "takes paths of names that are not empty and do not begin with \"$\": \"\(shown)\" is none", path: shown
            )
        }
        return path
    }

    /// The name of a member that a stage makes.
    func memberName(_ value: JSONValue, _ place: StagePlace) throws(HoldfastError) -> [UInt8] {
        guard case .string(let name) = value, !name.isEmpty, name.first != UInt8(ascii: "$"),
            !name.contains(UInt8(ascii: ".")), !name.contains(0)
        else {
            throw place.refusal(
                "takes the name of a member, not empty, without dots, and without \"$\" at its beginning")
        }
        return name
    }

    /// The members of a stage's own object, by their names.
    func members(
        _ value: JSONValue, _ place: StagePlace, _ allowed: [String], required: [String]
    ) throws(HoldfastError) -> [String: JSONValue] {
        guard case .object(let members) = value else {
            throw place.refusal("takes an object with \(Self.list(allowed)), not \(value.typeInWords)")
        }
        var found: [String: JSONValue] = [:]
        for member in members {
            guard let name = allowed.first(where: { $0.utf8.elementsEqual(member.name) }) else {
                let shown = String(decoding: member.name, as: UTF8.self)
                let cure =
                    Spelling.nearest(to: member.name, among: allowed).map { "did you mean \"\($0)\"?" }
                    ?? "supported are \(Self.list(allowed))"
                throw place.refusal("has the unknown member \"\(shown)\"; \(cure)", path: shown)
            }
            found[name] = member.value
        }
        if let name = required.first(where: { found[$0] == nil }) {
            throw place.refusal("has no \"\(name)\": give it one", path: name)
        }
        return found
    }

    static func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ", ") }

    // MARK: Errors

    private mutating func unknown(_ place: StagePlace) -> HoldfastError {
        meansName = true
        let cure =
            Spelling.nearest(to: Array(place.name.utf8), among: Self.names).map { "did you mean \"\($0)\"?" }
            ?? "supported are \(Self.list(Self.names))"
        return HoldfastError(
            .invalidQuery, "unknown stage \"\(place.name)\" at \(place.number) in the pipeline; \(cure)",
            detail: Operator.detail(place.name, location: nil) + [("supported", .texts(Self.names))])
    }

    private func requireUse() throws(HoldfastError) {
        guard let stranger = given.first(where: { !used.contains($0.name) })?.name else { return }
        let shown = String(decoding: stranger, as: UTF8.self)
        var message = "the pipeline has no parameter \"\(shown)\""
        let names = used.map { String(decoding: $0, as: UTF8.self) }
        if let nearest = Spelling.nearest(to: stranger, among: names) { message += "; did you mean \"\(nearest)\"?" }
        throw HoldfastError(.invalidQuery, message, detail: [("parameter", .text(shown))])
    }

    /// Where the trail leads in the pipeline's own text.
    func position(in bytes: UnsafeRawBufferPointer) -> UInt64? {
        FilterCompiler.position(of: trail, meansName: meansName, in: bytes)
    }
}
