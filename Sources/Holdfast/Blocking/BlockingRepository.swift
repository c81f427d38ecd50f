internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A repository's calls for whoever owns a thread: see ``BlockingStore``. Outside a transaction each is a commit or a read
/// of its own; inside one, it joins.
public struct BlockingRepository<Entity: Codable & Identifiable & Sendable>: Sendable
where Entity.ID: EntityIdentifier {
    /// The same repository, to be awaited: what is not here is there. A thread without tasks has one do it:
    /// `try Operation { try await songs.createIndex(.ascending(\.plays)) }.perform()`.
    public let repository: Repository<Entity>

    // MARK: Reading

    /// The entity of this id, or nil.
    public func fetch(id: Entity.ID) throws -> Entity? { try fetchVersioned(id: id)?.entity }

    /// The entity of this id with its version, or nil.
    public func fetchVersioned(id: Entity.ID) throws -> Versioned<Entity>? {
        let id = try repository.text(of: id)
        var found: (version: UInt64, body: [UInt8])?
        try now { core, transaction throws(CoreError) in
            _ = try core.fetch(id, in: transaction) { found = ($0, Array($1)) }
        }
        return try found.map { Versioned(entity: try repository.decode($0.body, id: id), version: $0.version) }
    }

    /// The entities of these ids, in this order, as of one state of the store; ids without an entity are left out.
    public func fetchMany(ids: [Entity.ID]) throws -> [Entity] {
        let json = try repository.json(of: ids)
        return try entities { core, transaction throws(CoreError) in
            try json.withBytes { json throws(CoreError) in try core.fetchMany(json, in: transaction) }
        }
    }

    /// Every entity, ordered by the bytes of the ids' texts.
    public func fetchAll() throws -> [Entity] {
        try entities { core, transaction throws(CoreError) in try core.fetchAll(in: transaction) }
    }

    /// Whether there is an entity of this id.
    public func contains(id: Entity.ID) throws -> Bool {
        let id = try repository.text(of: id)
        return try now { core, transaction throws(CoreError) in try core.contains(id, in: transaction) }
    }

    /// The entities that match, as ``Repository/find(_:sort:skip:limit:parameters:)`` finds them.
    public func find(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) throws -> [Entity] {
        let query = Query(filter: filter, sort: sort, skip: skip, limit: limit, parameters: parameters)
        return try repository.decode(list(query), as: Entity.self)
    }

    /// Some members of the entities that match, as another type.
    public func find<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil, parameters: QueryParameters = [:]
    ) throws -> [Answer] {
        let query = Query(
            filter: filter, sort: sort, skip: skip, limit: limit, fields: fields, parameters: parameters)
        return try repository.decode(list(query), as: type)
    }

    /// The first of the entities that `find` would answer, or nil.
    public func first(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) throws -> Entity? {
        try find(filter, sort: sort, skip: skip, limit: 1, parameters: parameters).first
    }

    /// Some members of the first of the entities that `find` would answer, as another type, or nil.
    public func first<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) throws -> Answer? {
        try find(filter, fields: fields, as: type, sort: sort, skip: skip, limit: 1, parameters: parameters).first
    }

    /// How many entities match.
    public func count(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) throws -> Int {
        Int(
            try asking(Query(filter: filter, parameters: parameters)) {
                core, filter, options, transaction throws(CoreError) in
                try core.count(filter, options, in: transaction)
            })
    }

    /// Whether any entity matches.
    public func exists(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) throws -> Bool {
        try asking(Query(filter: filter, parameters: parameters)) {
            core, filter, options, transaction throws(CoreError) in
            try core.exists(filter, options, in: transaction)
        }
    }

    // MARK: Writing

    /// Stores a new entity. Throws `.exists`, `.invalidEntity`, `.invalidID`.
    @discardableResult
    public func add(_ entity: Entity) throws -> Entity { try put([entity], .absent)[0] }

    /// Replaces an existing entity. Throws `.notFound`, `.versionMismatch`, `.invalidEntity`, `.invalidID`.
    /// - Parameters:
    ///   - entity: What it is to be from now on.
    ///   - expectedVersion: The version that it must have; nil (or 0) for any.
    @discardableResult
    public func update(_ entity: Entity, expectedVersion: UInt64? = nil) throws -> Entity {
        try put([entity], .expecting(expectedVersion ?? 0))[0]
    }

    /// Stores an entity, new or not. Throws `.invalidEntity`, `.invalidID`.
    @discardableResult
    public func save(_ entity: Entity) throws -> Entity { try put([entity], .none)[0] }

    /// Changes some members: ``Repository/patch(id:_:expectedVersion:)``.
    @discardableResult
    public func patch(
        id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], expectedVersion: UInt64? = nil
    ) throws -> Entity {
        try writing {
            let precondition = Write.Precondition.expecting(expectedVersion ?? 0)
            return try result(of: repository.write(patching: id, changes, precondition, repository.coreNow()))
        }
    }

    /// Changes an entity by an update: ``Repository/modify(id:_:initial:expectedVersion:)``.
    @discardableResult
    public func modify(
        id: Entity.ID, _ update: Update<Entity>, initial: Entity? = nil, expectedVersion: UInt64? = nil
    ) throws -> Entity {
        try writing {
            let precondition = Write.Precondition.expecting(expectedVersion ?? 0)
            return try result(
                of: repository.write(modifying: id, update, initial: initial, precondition, repository.coreNow()))
        }
    }

    /// Deletes the entity of this id. Throws `.notFound` unless a missing one is well, and `.versionMismatch`.
    public func delete(id: Entity.ID, expectedVersion: UInt64? = nil, missingOK: Bool = false) throws {
        try writing {
            let key = try repository.coreNow().key(repository.text(of: id))
            let write = Write(key: key, action: .delete, precondition: .expecting(expectedVersion ?? 0))
            do {
                try perform([write])
            } catch let error as HoldfastError where error.status == .notFound && missingOK {}
        }
    }

    /// `add` for each, or for none.
    @discardableResult
    public func addMany(_ entities: [Entity]) throws -> [Entity] { try put(entities, .absent) }

    /// `update` for each, whatever its version, or for none.
    @discardableResult
    public func updateMany(_ entities: [Entity]) throws -> [Entity] { try put(entities, .present) }

    /// `save` for each, or for none; of an id that comes twice the last stays.
    @discardableResult
    public func saveMany(_ entities: [Entity]) throws -> [Entity] { try put(entities, .none) }

    /// `patch` for each, or for none: ``Repository/patchMany(_:)``.
    @discardableResult
    public func patchMany(
        _ patches: [(id: Entity.ID, changes: [String: (any Encodable & Sendable)?])]
    ) throws -> [Entity] {
        try writing {
            let writes = try repository.writes(patching: patches, repository.coreNow())
            return try repository.decode(perform(writes, wantsResults: true), of: writes)
        }
    }

    /// `delete` for each, or for none.
    public func deleteMany(ids: [Entity.ID]) throws {
        try writing {
            let core = try repository.coreNow()
            try perform(
                ids.map { Write(key: core.key(try repository.text(of: $0)), action: .delete, precondition: .present) })
        }
    }

    /// `modify` for every entity that matches, or for none.
    /// - Returns: How many match, and how many of them the update changed.
    @discardableResult
    public func modifyAll(
        _ filter: Filter<Entity> = .all, _ update: Update<Entity>, parameters: QueryParameters = [:]
    ) throws -> (matched: Int, modified: Int) {
        try writing {
            let json = try update.json(repository.coding)
            let counts = try asking(Query(filter: filter, parameters: parameters)) {
                core, filter, _, transaction throws(CoreError) in
                try json.withBytes { json throws(CoreError) in try core.modifyAll(filter, json, in: transaction) }
            }
            return (Int(counts.matched), Int(counts.modified))
        }
    }

    /// Deletes every entity that matches.
    /// - Returns: How many those were.
    @discardableResult
    public func deleteAll(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) throws -> Int {
        try writing {
            Int(
                try asking(Query(filter: filter, parameters: parameters)) {
                    core, filter, _, transaction throws(CoreError) in try core.deleteAll(filter, in: transaction)
                })
        }
    }

    // MARK: Carrying them out

    private func put(_ entities: [Entity], _ precondition: Write.Precondition) throws -> [Entity] {
        try writing {
            let (writes, stored) = try repository.writes(entities, precondition, repository.coreNow())
            try perform(writes)
            return stored
        }
    }

    /// What writes: first it is noted in which part of a transaction, and where it fails, that it has.
    private func writing<Value>(_ body: () throws -> Value) throws -> Value {
        let store = repository.store
        try store.requireBlocking()
        return try store.writingNow {
            if let scope = TransactionScope.scope(of: store) { scope.transaction.note(writingIn: scope.number) }
            return try body()
        }
    }

    private func result(of write: Write) throws -> Entity {
        try repository.decode(perform([write], wantsResults: true)[0], id: write.key.id)
    }

    @discardableResult
    private func perform(_ writes: [Write], wantsResults: Bool = false) throws -> [[UInt8]] {
        try now { core, transaction throws(CoreError) in
            try core.perform(writes, in: transaction, wantsResults: wantsResults).bodies
        }
    }

    func list(_ query: Query<Entity>) throws -> EntityList {
        try asking(query) { core, filter, options, transaction throws(CoreError) in
            try query.list(core, filter, options, transaction)
        }
    }

    private func entities(
        _ body: (HoldfastCore.Repository, HoldfastCore.Transaction?) throws(CoreError) -> EntityList
    ) throws -> [Entity] { try repository.decode(now(body), as: Entity.self) }

    func asking<Value>(
        _ query: Query<Entity>,
        _ body: (
            HoldfastCore.Repository, HoldfastQuery.Filter, QueryOptions, HoldfastCore.Transaction?
        ) throws(CoreError) -> Value
    ) throws -> Value {
        let (filter, options) = try query.compiled(
            for: repository.coreNow(), repository.coding, skipsDamaged: repository.skipsDamaged)
        return try now { core, transaction throws(CoreError) in try body(core, filter, options, transaction) }
    }

    private func now<Value>(
        _ body: (HoldfastCore.Repository, HoldfastCore.Transaction?) throws(CoreError) -> Value
    ) throws -> Value {
        let core = try repository.coreNow()
        let transaction = try TransactionScope.transaction(of: repository.store)
        return try translatingErrors { () throws(CoreError) in try body(core, transaction) }
    }
}

extension Repository {
    /// The repository's calls for whoever owns a thread.
    public var blocking: BlockingRepository<Entity> { BlockingRepository(repository: self) }
}
