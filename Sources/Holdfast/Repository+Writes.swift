internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Writing. Each verb makes the writes that it stands for; `perform` carries them out, inside the transaction that the
/// task is in, or as a commit of their own. What several entities are given to is atomic, and its errors tell the index.
extension Repository {
    // MARK: One

    /// Stores a new entity. Throws `.exists` when its id is taken, `.invalidEntity`, `.invalidID`.
    /// - Returns: The entity; decoded from what was stored if it was assigned its id.
    @discardableResult
    public func add(_ entity: Entity) async throws -> Entity { try await put([entity], .absent)[0] }

    /// Replaces an existing entity. Throws `.notFound`, `.versionMismatch`, `.invalidEntity`, `.invalidID`. Its new version,
    /// to be expected next time, is the `sequence` of the receipt that ``Store/transactionWithReceipt(_:_:)`` answers.
    /// - Parameters:
    ///   - entity: What it is to be from now on.
    ///   - expectedVersion: The version that it must have; nil (or 0) for any.
    @discardableResult
    public func update(_ entity: Entity, expectedVersion: UInt64? = nil) async throws -> Entity {
        try await put([entity], .expecting(expectedVersion ?? 0))[0]
    }

    /// Stores an entity, new or not. Reads nothing, so a transaction that only saves never meets a conflict. Throws
    /// `.invalidEntity`, `.invalidID`.
    /// - Returns: The entity; decoded from what was stored if it was assigned its id.
    @discardableResult
    public func save(_ entity: Entity) async throws -> Entity { try await put([entity], .none)[0] }

    /// Changes some members of an entity by a JSON merge patch (RFC 7396): nil removes a member, dictionaries merge,
    /// all else replaces; what is not named stays as it is, byte for byte. The values are encoded as entities are.
    ///
    ///     try await songs.patch(id: "s1", ["plays": 2, "note": nil])
    ///
    /// Throws `.notFound`, `.versionMismatch`, `.invalidEntity` (the id would change).
    /// - Returns: The entity as it is stored now.
    @discardableResult
    public func patch(
        id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], expectedVersion: UInt64? = nil
    ) async throws -> Entity {
        try await store.writing {
            let write = try write(patching: id, changes, .expecting(expectedVersion ?? 0), try await core())
            return try decode(try await perform([write], wantsResults: true)[0], id: write.key.id)
        }
    }

    /// Changes an entity by an update. Outside a transaction it is worked out on the newest state when its turn comes, so
    /// that many tasks may count in one entity: none is lost, and none conflicts.
    ///
    /// Throws `.notFound`, `.versionMismatch`, `.invalidQuery` (the update fits no entity), `.invalidEntity` (it does not
    /// fit this one, or the id would change); the detail of both tells `operator` and `path`.
    /// - Parameters:
    ///   - id: The entity's.
    ///   - update: What to change in it.
    ///   - initial: The entity to begin with where there is none; not with an expected version.
    ///   - expectedVersion: The version that it must have; nil (or 0) for any.
    /// - Returns: The entity as it is stored now.
    @discardableResult
    public func modify(
        id: Entity.ID, _ update: Update<Entity>, initial: Entity? = nil, expectedVersion: UInt64? = nil
    ) async throws -> Entity {
        try await store.writing {
            let write = try write(
                modifying: id, update, initial: initial, .expecting(expectedVersion ?? 0), try await core())
            return try decode(try await perform([write], wantsResults: true)[0], id: write.key.id)
        }
    }

    /// Deletes an entity, whatever its other members are by now. Throws `.notFound`.
    public func delete(_ entity: Entity) async throws { try await delete(id: entity.id, missingOK: false) }

    /// Deletes the entity of this id. Throws `.notFound`.
    public func delete(id: Entity.ID) async throws { try await delete(id: id, missingOK: false) }

    /// Deletes the entity of this id. Throws `.notFound` unless a missing one is well, and `.versionMismatch`.
    public func delete(id: Entity.ID, expectedVersion: UInt64? = nil, missingOK: Bool = false) async throws {
        try await store.writing {
            let key = try await core().key(text(of: id))
            let write = Write(key: key, action: .delete, precondition: .expecting(expectedVersion ?? 0))
            do {
                _ = try await perform([write])
            } catch let error as HoldfastError where error.status == .notFound && missingOK {}
        }
    }

    // MARK: Many

    /// `add` for each; an id that comes twice is `.exists`.
    @discardableResult
    public func addMany(_ entities: [Entity]) async throws -> [Entity] { try await put(entities, .absent) }

    /// `update` for each, whatever its version.
    @discardableResult
    public func updateMany(_ entities: [Entity]) async throws -> [Entity] { try await put(entities, .present) }

    /// `save` for each; of an id that comes twice the last stays.
    @discardableResult
    public func saveMany(_ entities: [Entity]) async throws -> [Entity] { try await put(entities, .none) }

    /// `patch` for each, whatever its version; of an id that comes twice, one after the other.
    /// - Returns: The entities as they are stored now, in this order.
    @discardableResult
    public func patchMany(
        _ patches: [(id: Entity.ID, changes: [String: (any Encodable & Sendable)?])]
    ) async throws -> [Entity] {
        try await store.writing {
            let writes = try writes(patching: patches, await core())
            return try decode(await perform(writes, wantsResults: true), of: writes)
        }
    }

    /// `delete` for each.
    public func deleteMany(ids: [Entity.ID]) async throws {
        try await store.writing {
            let core = try await core()
            let writes = try ids.map { Write(key: core.key(try text(of: $0)), action: .delete, precondition: .present) }
            _ = try await perform(writes)
        }
    }

    /// `modify` for every entity that matches, or for none when one of them refuses it, in a transaction that runs again
    /// after a conflict.
    /// - Returns: How many match, and how many of them the update changed; the others are not written.
    @discardableResult
    public func modifyAll(
        _ filter: Filter<Entity> = .all, _ update: Update<Entity>, parameters: QueryParameters = [:]
    ) async throws -> (matched: Int, modified: Int) {
        try await store.writing {
            let json = try update.json(coding)
            let core = try await core()
            let filter = try Query(filter: filter, parameters: parameters).compiled(for: core, coding).filter
            let counts = try await store.transaction {
                try Task.checkCancellation()
                let transaction = try TransactionScope.transaction(of: store)
                return try await store.waiting { () throws(CoreError) in
                    try json.withBytes { json throws(CoreError) in try core.modifyAll(filter, json, in: transaction) }
                }
            }
            return (Int(counts.matched), Int(counts.modified))
        }
    }

    /// Deletes every entity that matches, in a transaction that runs again after a conflict.
    /// - Returns: How many those were.
    @discardableResult
    public func deleteAll(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) async throws -> Int {
        try await store.writing {
            let core = try await core()
            let filter = try Query(filter: filter, parameters: parameters).compiled(for: core, coding).filter
            return try await store.transaction {
                try Task.checkCancellation()
                let transaction = try TransactionScope.transaction(of: store)
                return Int(
                    try await store.waiting { () throws(CoreError) in try core.deleteAll(filter, in: transaction) })
            }
        }
    }

    // MARK: Making writes

    private func put(_ entities: [Entity], _ precondition: Write.Precondition) async throws -> [Entity] {
        try await store.writing {
            let (writes, stored) = try writes(entities, precondition, await core())
            _ = try await perform(writes)
            return stored
        }
    }

    func writes(
        _ entities: [Entity], _ precondition: Write.Precondition, _ core: HoldfastCore.Repository
    ) throws -> (writes: [Write], stored: [Entity]) {
        let writes = try eachNamed(entities) { entity in
            let write = try write(entity, precondition, core)
            return (write, try assignedEntity(write) ?? entity)
        }
        return (writes.map(\.0), writes.map(\.1))
    }

    func writes(
        patching patches: [(id: Entity.ID, changes: [String: (any Encodable & Sendable)?])],
        _ core: HoldfastCore.Repository
    ) throws -> [Write] { try eachNamed(patches) { try write(patching: $0.id, $0.changes, .present, core) } }

    /// What writes have left.
    func decode(_ texts: [[UInt8]], of writes: [Write]) throws -> [Entity] {
        try zip(writes, texts).map { try decode($1, id: $0.key.id) }
    }

    /// What `body` makes of each. Of several, an error tells which one it is about.
    private func eachNamed<Element, Value>(_ elements: [Element], _ body: (Element) throws -> Value) throws -> [Value] {
        try elements.enumerated().map { index, element in
            do {
                return try body(element)
            } catch var error as HoldfastError where elements.count > 1 {
                error.message = "element \(index), counted from 0: \(error.message)"
                throw error
            }
        }
    }

    func write(
        modifying id: Entity.ID, _ update: Update<Entity>, initial: Entity?, _ precondition: Write.Precondition,
        _ core: HoldfastCore.Repository
    ) throws -> Write {
        let id = try text(of: id)
        let json = try update.json(coding)
        let first = try initial.map { try coding.encode($0, what: "initial entity", status: .invalidEntity) }
        return try translatingErrors { () throws(CoreError) in
            try json.withBytes { json throws(CoreError) in
                guard let first else { return try core.modify(id, json, initial: nil, precondition) }
                return try first.withBytes { first throws(CoreError) in
                    try core.modify(id, json, initial: first, precondition)
                }
            }
        }
    }

    func write(
        patching id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], _ precondition: Write.Precondition,
        _ core: HoldfastCore.Repository
    ) throws -> Write {
        let id = try text(of: id)
        let json = try coding.encode(changes.mapValues { AnyValue(value: $0) }, what: "patch", status: .invalidEntity)
        return try translatingErrors { () throws(CoreError) in
            try json.withBytes { bytes throws(CoreError) in try core.patch(id, bytes, precondition) }
        }
    }

    private func write(
        _ entity: Entity, _ precondition: Write.Precondition, _ core: HoldfastCore.Repository
    ) throws -> Write {
        let json = try coding.encode(entity, what: "entity", status: .invalidEntity)
        var write = try translatingErrors { () throws(CoreError) in
            try json.withBytes { bytes throws(CoreError) in
                // Only what may be new is assigned an id.
                try core.put(bytes, precondition, assigning: precondition == .absent || precondition == .none)
            }
        }
        if write.bodyBeforeAssignment != nil {
            // Written as the id's own type writes it, so that the id which is read back finds the entity.
            guard let id = Entity.ID(identifierText: write.key.id.text), let text = id.identifierText else {
                throw HoldfastError(
                    .invalidEntity,
                    "the entity has no id, and \(Entity.ID.self) cannot hold a UUID, which it would be assigned: give it one"
                )
            }
            if text != write.key.id.text {
                let assigned = EntityID(unchecked: Array(text.utf8))
                let whole = try translatingErrors { () throws(CoreError) in
                    try json.withBytes { bytes throws(CoreError) in
                        try AssignedID.insert(assigned, named: key, into: bytes)
                    }
                }
                write.key = core.key(assigned)
                write.action = .put(whole)
            }
        }
        if let id = entity.id.identifierText, !write.key.id.bytes.elementsEqual(id.utf8) {
            throw HoldfastError(
                .invalidEntity,
                "the entity's id is \"\(id)\" and its member \"\(key)\" is \"\(write.key.id.text)\": they must be one")
        }
        return write
    }

    /// The entity with the id that it was assigned, if it was.
    private func assignedEntity(_ write: Write) throws -> Entity? {
        guard write.bodyBeforeAssignment != nil, case .put(let text) = write.action else { return nil }
        return try decode(text, id: write.key.id)
    }

    // MARK: Carrying them out

    /// Answers the final texts, where wanted.
    private func perform(_ writes: [Write], wantsResults: Bool = false) async throws -> [[UInt8]] {
        try Task.checkCancellation()
        if let scope = try TransactionScope.joined(by: store) {
            let transaction = scope.transaction
            return try await store.waiting { [name] () throws(CoreError) in
                transaction.note(writingIn: scope.number)
                return try transaction.write(writes, wantsResults: wantsResults, repository: name)
            }
        }
        if writes.isEmpty { return [] }
        if try await core().isValidated {
            return try await store.transaction { try await perform(writes, wantsResults: wantsResults) }
        }
        let timeout = HoldfastCore.TransactionOptions().timeoutMilliseconds
        let core = store.core
        try await store.places.take(until: .now + .milliseconds(timeout))
        defer { store.places.giveBack() }
        let pending = CommitFuture()
        let deadline = core.deadline(inMilliseconds: timeout)
        let commit = Commit(
            writes: writes, isDurable: core.options.isDurable, deadline: deadline,
            owner: pending, wantsResults: wantsResults)
        try translatingErrors { () throws(CoreError) in
            try core.requireWritable()
            try core.queue.submit(commit, slotDeadline: deadline)
        }
        _ = try await pending.receipt { _ = core.queue.cancel(commit) }
        return commit.results
    }
}
