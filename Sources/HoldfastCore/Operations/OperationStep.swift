internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// One call of a repository's, described: what `operation.h` lists under the name of each.
struct OperationStep: Sendable {
    let verb: Verb
    let repository: String
    /// Where the call is one of a repository that is open: that, whatever it is called by then.
    private var opened: Repository?
    private var key: String?
    private var cache: CachePolicy?
    private var id: EntityID?
    private var payload: [UInt8] = []
    private var initial: [UInt8]?
    private var filter: [UInt8]?
    private var options: [UInt8]?
    private var path: [UInt8] = []
    /// Of a fetch: answered in the entity's place.
    private var member: [UInt8]?
    private var expectedVersion: CommitSequence = 0
    private var isMissingAllowed = false
    /// Of a step that is the whole operation: whether a run waits for a slot where there is none.
    private(set) var waitsForSlot = true

    /// The members whose text is handed on as it came.
    private static let texts = [
        "entity", "entities", "patch", "patches", "update", "ids", "initial", "filter", "options",
    ]

    /// A call that only writes, of a repository that is open.
    init(_ verb: Verb, of repository: Repository, _ id: EntityID?, _ payload: [UInt8], isMissingAllowed: Bool) {
        self.verb = verb
        self.repository = repository.name
        opened = repository
        self.id = id
        self.payload = payload
        self.isMissingAllowed = isMissingAllowed
    }

    /// Reads a step from the object at `position` of a text that was checked to be JSON.
    init(_ walker: ItemWalker, at position: Int, _ opened: Operation.Opened, isAlone: Bool = false)
        throws(HoldfastError)
    {
        guard try walker.kind(at: position) == .object else {
            throw HoldfastError(.invalidOption, "an operation's step must be a JSON object")
        }
        var members: [JSONValue.Member] = []
        var texts: [String: [UInt8]] = [:]
        _ = try walker.members(of: position) { name, value, end throws(HoldfastError) in
            let name = try walker.decode(name)
            let text = walker.walker.bytes(value, end)
            if let known = Self.texts.first(where: { $0.utf8.elementsEqual(name) }) {
                texts[known] = try Array(asking: text)
                members.append(JSONValue.Member(name: name, value: .null))
            } else if try walker.kind(at: value) == .string {
                members.append(JSONValue.Member(name: name, value: .string(try walker.string(at: value))))
            } else {
                members.append(JSONValue.Member(name: name, value: try JSONValue.parse(text, what: "operation")))
            }
        }
        var reader = OptionReader(members: members, what: "operation")
        func text(_ name: String) -> [UInt8]? {
            _ = reader.value(name)
            return texts[name]
        }
        guard let name = try reader.text("operation", oneOf: Verb.names),
            let verb = Verb(rawValue: name)
        else { throw Self.missing("operation", "the name of a repository's call, such as \"add\"") }
        self.verb = verb
        if case .integer(let number)? = reader.value("repository") {
            guard let repository = try opened(number) else {
                throw HoldfastError(
                    .invalidOption,
                    "the operation's \"repository\" is \(number), and no repository of this number was given with it: "
                        + "number the repositories that it is created with, from 0, or name it",
                    detail: [("option", .text("repository"))])
            }
            self.opened = repository
            self.repository = repository.name
        } else if let repository = try reader.text("repository") {
            self.repository = repository
            key = try reader.text("key")
            cache = try reader.cachePolicy()
        } else {
            throw Self.missing("repository", "the name of a repository")
        }
        if let payload = verb.payload {
            guard let text = text(payload) else { throw Self.missing(payload, "what \(verb.rawValue) is to work on") }
            self.payload = text
        }
        if verb.namesOne { id = try Self.id(reader.value("id")) }
        if verb == .fetch { member = try reader.text("member").map { Array($0.utf8) } }
        if verb == .modify { initial = text("initial") }
        if verb.isQuery {
            filter = text("filter")
            options = text("options")
        }
        if verb == .distinct {
            guard let path = try reader.text("path") else { throw Self.missing("path", "the path to the values") }
            self.path = Array(path.utf8)
        }
        if verb.takesExpectedVersion {
            expectedVersion = CommitSequence(try reader.integer("expected_version", in: 0...Int64.max) ?? 0)
        }
        if verb == .delete { isMissingAllowed = try reader.boolean("missing_ok") ?? false }
        if isAlone, let value = try reader.text("when_full", oneOf: ["wait", "refuse"]) {
            waitsForSlot = value == "wait"
        }
        try reader.finish()
    }

    private static func id(_ value: JSONValue?) throws(HoldfastError) -> EntityID {
        switch value {
        case .string(let bytes)?:
            return try bytes.withBytes { bytes throws(HoldfastError) in try EntityID(checking: bytes) }
        case .integer(let number)?: return EntityID(unchecked: Array(String(number).utf8))
        case nil: throw missing("id", "the entity's id")
        case let other?:
            throw HoldfastError(.invalidID, "an id must be a text or an integer, not \(other.typeInWords)")
        }
    }

    private static func missing(_ name: String, _ meaning: String) -> HoldfastError {
        HoldfastError(
            .invalidOption, "the operation has no \"\(name)\": give \(meaning)", detail: [("option", .text(name))])
    }

    // MARK: Carrying it out

    /// The repository, created where there is none of this name. `time`: at which the name may be taken for what it was.
    func open(in store: Store, at time: UInt64 = .max) throws(HoldfastError) -> Repository {
        if let opened { return opened }
        var options = RepositoryOptions()
        options.key = key
        options.cache = cache
        return try store.repository(repository, options, at: time)
    }

    /// The repository if opening it needs no I/O.
    func openKnown(in store: Store) throws(HoldfastError) -> Repository? {
        if let opened { return opened }
        if store.storage.isRemote { return nil }
        return try store.knows(repository) ? open(in: store) : nil
    }

    func run(on repository: Repository, in transaction: Transaction?) throws(HoldfastError) -> FutureValue {
        if let writes = try writes(to: repository) {
            do throws(HoldfastError) {
                let (texts, receipt) = try repository.perform(
                    writes, in: transaction, wantsResults: verb.answersEntities)
                return result(texts, receipt)
            } catch {
                // What ended the transaction before is no answer of this call.
                if transaction?.isDoomed == true { throw error }
                return try forgiven(error)
            }
        }
        return try read(repository, in: transaction)
    }

    /// What the calls that only write stand for; nil for the others.
    func writes(to repository: Repository) throws(HoldfastError) -> [Write]? {
        guard verb.isWriteCall else { return nil }
        return try payload.withBytes { payload throws(HoldfastError) in
            try initial.withBytes { initial throws(HoldfastError) in
                try WriteCall(verb, id, payload, initial: initial, expectedVersion: expectedVersion)
                    .writes(to: repository)
            }
        }
    }

    /// What the call answers once its writes are carried out.
    func result(_ texts: [[UInt8]], _ receipt: Receipt?) -> FutureValue {
        if !verb.answersEntities { return FutureValue(bytes: Self.null, receipt: receipt) }
        if verb.answersEntity {
            return FutureValue(bytes: texts.first ?? Self.null, version: receipt?.sequence ?? 0, receipt: receipt)
        }
        var writer = JSONWriter(reservingCapacity: texts.reduce(2) { $0 + $1.count + 1 })
        writer.beginArray()
        for text in texts { writer.raw(text) }
        writer.endArray()
        return FutureValue(bytes: writer.bytes, receipt: receipt)
    }

    /// The result of a call that was carried out in a transaction of its own, which was stored since.
    func dated(_ value: FutureValue) -> FutureValue {
        var value = value
        if verb.answersEntity { value.version = value.receipt?.sequence ?? 0 }
        return value
    }

    /// The result in place of an error that the description allows.
    func forgiven(_ error: HoldfastError) throws(HoldfastError) -> FutureValue {
        guard isMissingAllowed, error.status == .notFound else { throw error }
        return FutureValue(bytes: Self.null)
    }

    static let null = Array("null".utf8)

    private func read(_ repository: Repository, in transaction: Transaction?) throws(HoldfastError) -> FutureValue {
        switch verb {
        case .fetch:
            var found: FutureValue?
            _ = try repository.fetch(id!, in: transaction) { version, text throws(HoldfastError) in
                let bytes = if let member { try Self.member(member, of: text) } else { try Array(asking: text) }
                found = FutureValue(bytes: bytes, version: version)
            }
            return found ?? FutureValue(bytes: Self.null)
        case .contains: return Self.boolean(try repository.contains(id!, in: transaction))
        case .fetchMany:
            return try payload.withBytes { ids throws(HoldfastError) in
                FutureValue(bytes: try repository.fetchMany(ids, in: transaction).json.copy)
            }
        case .fetchAll: return FutureValue(bytes: try repository.fetchAll(in: transaction).json.copy)
        default: return try query(repository, in: transaction)
        }
    }

    /// Null where there is no such member.
    private static func member(
        _ name: [UInt8], of entity: UnsafeRawBufferPointer
    ) throws(HoldfastError) -> [UInt8] {
        let walker = ItemWalker(entity)
        var found: [UInt8]?
        _ = try walker.members(of: walker.start()) { candidate, value, end throws(HoldfastError) in
            // Of a name that stands there twice the first counts, as everywhere.
            if found == nil, try walker.order(candidate, name) == 0 {
                found = try Array(asking: walker.walker.bytes(value, end))
            }
        }
        return found ?? null
    }

    private func query(_ repository: Repository, in transaction: Transaction?) throws(HoldfastError) -> FutureValue {
        let options = try options.withBytes { text throws(HoldfastError) in
            try QueryOptions(json: text, key: repository.record.key, accepting: verb.accepted)
        }
        let filter = try filter.withBytes { text throws(HoldfastError) in
            try repository.filter(text, options.parameters)
        }
        switch verb {
        case .find: return FutureValue(bytes: try repository.find(filter, options, in: transaction).json.copy)
        case .first:
            let entity = try repository.first(filter, options, in: transaction)
            return FutureValue(bytes: entity?.body ?? Self.null, version: entity?.version ?? 0)
        case .count: return Self.number(try repository.count(filter, options, in: transaction))
        case .exists: return Self.boolean(try repository.exists(filter, options, in: transaction))
        case .distinct: return FutureValue(bytes: try repository.distinct(path, filter, options, in: transaction))
        case .deleteAll: return Self.number(try repository.deleteAll(filter, in: transaction))
        default:
            let counts = try payload.withBytes { update throws(HoldfastError) in
                try repository.modifyAll(filter, update, in: transaction)
            }
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("matched", counts.matched)
            writer.member("modified", counts.modified)
            writer.endObject()
            return FutureValue(bytes: writer.bytes)
        }
    }

    private static func number(_ number: UInt64) -> FutureValue { FutureValue(bytes: Array(String(number).utf8)) }

    private static func boolean(_ value: Bool) -> FutureValue { FutureValue(bytes: Array("\(value)".utf8)) }
}

extension [UInt8]? {
    /// Lends the bytes, or nil.
    fileprivate func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer?) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        guard let bytes = self else { return try body(nil) }
        return try bytes.withBytes { bytes throws(HoldfastError) in try body(bytes) }
    }
}
