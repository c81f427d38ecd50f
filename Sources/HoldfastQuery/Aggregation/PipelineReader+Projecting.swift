internal import HoldfastEnvironment

/// Reading the stages that choose, leave out and compute members.
extension PipelineReader {
    enum ProjectionForm {
        /// With numbers and booleans that tell whether a member is wanted.
        case project
        /// All is computed.
        case set
        /// All is left out, also the key.
        case unset
    }

    private struct Draft {
        let form: ProjectionForm
        var root = Projector.Node()
        var expressions: [Expression] = []
        var reads = FieldUse.nothing
        /// Whether members other than the key are wanted; nil as long as nothing tells it.
        var isWanted: Bool?
        var keyIsWanted: Bool?
        var fields = 0
    }

    mutating func projection(
        _ form: ProjectionForm, _ place: StagePlace, _ value: JSONValue
    ) throws(HoldfastError) -> Pipeline.Stage {
        guard case .object(let members) = value, !members.isEmpty else {
            throw place.refusal("takes an object of at least one path, not \(value.typeInWords) of another form")
        }
        var draft = Draft(form: form)
        try read(members, below: [], place, &draft)
        guard form == .project else {
            return stage(
                place, .project(Projector(form == .set ? .set : .leaveOut, draft.root, draft.expressions)),
                reads: draft.reads)
        }
        let chooses = draft.isWanted ?? draft.keyIsWanted ?? true
        if chooses, !draft.root.children.contains(where: { $0.name == key }), draft.keyIsWanted ?? true {
            draft.root.insert([key], .named)
            draft.reads.insert(key)
        }
        if !chooses, draft.keyIsWanted == false { draft.root.insert([key], .named) }
        return stage(
            place, .project(Projector(chooses ? .choose : .leaveOut, draft.root, draft.expressions)), reads: draft.reads
        )
    }

    private mutating func read(
        _ members: [JSONValue.Member], below names: [[UInt8]], _ place: StagePlace, _ draft: inout Draft
    ) throws(HoldfastError) {
        for member in members {
            var text = names.joined(separator: [UInt8(ascii: ".")]).map(\.self)
            if !text.isEmpty { text.append(UInt8(ascii: ".")) }
            let path = try self.path(text + member.name, place)
            let parts = path.parts.map(\.name)
            draft.fields += 1
            guard draft.fields <= Projection.maxFields else {
                throw place.refusal("names more than \(Projection.maxFields) paths: use several stages")
            }
            if let isWanted = flag(member.value, draft.form) {
                try choose(path, isWanted, place, &draft)
            } else if case .object(let members) = member.value, draft.form != .unset,
                members.first.map({ $0.name.first != UInt8(ascii: "$") }) ?? true
            {
                guard !members.isEmpty else {
                    throw place.refusal("takes no empty object: write {\"$literal\": {}}", path: path.text)
                }
                try read(members, below: parts, place, &draft)
            } else {
                try compute(path, member.value, place, &draft)
            }
        }
    }

    private func flag(_ value: JSONValue, _ form: ProjectionForm) -> Bool? {
        if form == .set { return nil }
        return switch value {
        case .bool(let flag): flag
        case .integer(let integer): integer != 0
        case .real(let real): real != 0
        default: nil
        }
    }

    private func choose(
        _ path: Path, _ isWanted: Bool, _ place: StagePlace, _ draft: inout Draft
    ) throws(HoldfastError) {
        // The key has a will of its own: it stays unless it is given a 0.
        if draft.form == .project, path.parts.count == 1, path.parts[0].name == key {
            guard draft.keyIsWanted == nil else { throw twice(path, place) }
            draft.keyIsWanted = isWanted
            return
        }
        try require(isWanted, path, place, &draft)
        guard draft.root.insert(path.parts.map(\.name)[...], .named) else { throw twice(path, place) }
        if isWanted { draft.reads.insert(path.parts[0].name) }
    }

    private mutating func compute(
        _ path: Path, _ value: JSONValue, _ place: StagePlace, _ draft: inout Draft
    ) throws(HoldfastError) {
        if draft.form == .project { try require(true, path, place, &draft) }
        let (expression, reads) = try expression(value, place, path.text)
        guard draft.root.insert(path.parts.map(\.name)[...], .computed(draft.expressions.count)) else {
            throw twice(path, place)
        }
        draft.expressions.append(expression)
        draft.reads.formUnion(reads)
        // What lies beside it on the way is kept.
        if path.parts.count > 1 { draft.reads.insert(path.parts[0].name) }
    }

    private func require(
        _ isWanted: Bool, _ path: Path, _ place: StagePlace, _ draft: inout Draft
    ) throws(HoldfastError) {
        if draft.isWanted ?? isWanted != isWanted {
            throw place.refusal(
                "cannot both choose and leave out: give all 1 or all 0, and compute with \"$set\" where members are left "
                    + "out (\"\(String(decoding: key, as: UTF8.self))\" may differ)", path: path.text)
        }
        draft.isWanted = isWanted
    }

    private func twice(_ path: Path, _ place: StagePlace) -> HoldfastError {
        place.refusal("names a path twice, or with what is in it: name it once", path: path.text)
    }
}
