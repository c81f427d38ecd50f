public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// A call that writes, with what it is given: the one description from which come the call itself, in a transaction or as a
/// commit of its own, a step of an operation, and the exports of the ABI. What it is given is borrowed.
public struct WriteCall {
    let verb: Verb
    private let id: EntityID?
    private let payload: UnsafeRawBufferPointer
    private let initial: UnsafeRawBufferPointer?
    private let expected: Write.Precondition

    /// `id`: of the one entity that is meant, where the payload does not name it. `initial`: what `modify` begins with where
    /// there is no such entity, and any version will do; an initial entity without an id is given this one.
    /// `expectedVersion`: 0 stands for any.
    public init(
        _ verb: Verb, _ id: EntityID? = nil, _ payload: UnsafeRawBufferPointer = .init(start: nil, count: 0),
        initial: UnsafeRawBufferPointer? = nil, expectedVersion: CommitSequence = 0
    ) {
        self.verb = verb
        self.id = id
        self.payload = payload
        self.initial = initial
        expected = .expecting(expectedVersion)
    }

    /// Of a verb that writes one entity.
    func write(to repository: Repository) throws(HoldfastError) -> Write {
        switch verb {
        case .add: try repository.put(payload, .absent, assigning: true)
        case .update: try repository.put(payload, expected, assigning: false)
        case .save: try repository.put(payload, .none, assigning: true)
        case .patch: try repository.patch(id!, payload, expected)
        case .modify: try repository.modify(id!, payload, initial: initial, expected)
        default: Write(key: repository.key(id!), action: .delete, precondition: expected)
        }
    }

    func writes(to repository: Repository) throws(HoldfastError) -> [Write] {
        switch verb {
        case .addMany:
            try repository.writes(of: payload) { entity throws(HoldfastError) in
                try repository.put(entity, .absent, assigning: true)
            }
        case .updateMany:
            try repository.writes(of: payload) { entity throws(HoldfastError) in
                try repository.put(entity, .present, assigning: false)
            }
        case .saveMany:
            try repository.writes(of: payload) { entity throws(HoldfastError) in
                try repository.put(entity, .none, assigning: true)
            }
        case .patchMany: try repository.writes(of: payload, repository.patchOfBatch)
        case .deleteMany: try repository.deletions(of: payload)
        default: [try write(to: repository)]
        }
    }
}

extension Repository {
    /// Carries out a call that writes one entity, and answers that as it is stored; without a body where it is deleted.
    @discardableResult
    public func perform(_ call: WriteCall, in transaction: Transaction? = nil) throws(HoldfastError) -> Entity {
        let write = try call.write(to: self)
        if let transaction = try checked(transaction) {
            let body = try transaction.write(write, repository: name)
            return Entity(id: write.key.id, body: body ?? [], version: 0)
        }
        let (bodies, version) = try perform([write], in: nil, wantsResults: call.verb.answersEntities)
        return Entity(id: write.key.id, body: bodies.first ?? [], version: version)
    }

    /// Carries out a call that writes many, and answers what it has stored, in the order given, if `echoing`; else an empty
    /// list.
    public func performMany(
        _ call: WriteCall, in transaction: Transaction? = nil, echoing: Bool = true
    ) throws(HoldfastError) -> EntityList {
        let writes = try call.writes(to: self)
        var list = EntityList()
        // No entities are stored anywhere, also where nothing could be.
        if !writes.isEmpty || call.verb == .deleteMany {
            let (bodies, version) = try perform(
                writes, in: transaction, wantsResults: echoing && call.verb.answersEntities)
            for (write, body) in zip(writes, bodies) { try list.append(id: write.key.id, version: version, body: body) }
        }
        try list.finish()
        return list
    }
}
