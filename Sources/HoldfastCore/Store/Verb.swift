public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// What a repository can be asked to do. The raw value is the call's name in C and Python, and in an operation's
/// description.
public enum Verb: String, CaseIterable, Sendable {
    // One entity is written.
    case add, update, save, patch, modify, delete
    // Many are.
    case addMany = "add_many"
    case updateMany = "update_many"
    case saveMany = "save_many"
    case patchMany = "patch_many"
    case deleteMany = "delete_many"
    // All that match are.
    case modifyAll = "modify_all"
    case deleteAll = "delete_all"
    // Nothing is.
    case fetch, contains
    case fetchMany = "fetch_many"
    case fetchAll = "fetch_all"
    case find, first, count, exists, distinct

    static let names = allCases.map(\.rawValue)

    /// Whether it may change something.
    var writes: Bool { isWriteCall || self == .modifyAll || self == .deleteAll }

    /// Whether it is carried out by writes that are known without reading: whether a `WriteCall` can be of it.
    var isWriteCall: Bool {
        switch self {
        case .add, .update, .save, .patch, .modify, .delete: true
        case .addMany, .updateMany, .saveMany, .patchMany, .deleteMany: true
        default: false
        }
    }

    /// Whether it writes one entity and answers that.
    var answersEntity: Bool {
        switch self {
        case .add, .update, .save, .patch, .modify: true
        default: false
        }
    }

    /// Whether the bodies of what was written are wanted.
    var answersEntities: Bool { isWriteCall && self != .delete && self != .deleteMany }

    // MARK: In an operation's description

    /// The member that holds what is written, or the ids of what is read.
    var payload: String? {
        switch self {
        case .add, .update, .save: "entity"
        case .addMany, .updateMany, .saveMany: "entities"
        case .patch: "patch"
        case .patchMany: "patches"
        case .modify, .modifyAll: "update"
        case .deleteMany, .fetchMany: "ids"
        default: nil
        }
    }

    /// Whether the member "id" names the one entity that is meant.
    var namesOne: Bool {
        switch self {
        case .patch, .modify, .delete, .fetch, .contains: true
        default: false
        }
    }

    var takesExpectedVersion: Bool {
        switch self {
        case .update, .patch, .modify, .delete: true
        default: false
        }
    }

    var isQuery: Bool {
        switch self {
        case .modifyAll, .deleteAll, .find, .first, .count, .exists, .distinct: true
        default: false
        }
    }

    /// The options of a query that it understands.
    package var accepted: QueryOptions.Accepted {
        switch self {
        case .find: [.sort, .skip, .limit, .fields, .damaged]
        case .first: [.sort, .skip, .fields, .damaged]
        case .count, .exists, .distinct: .damaged
        default: []
        }
    }
}

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
    package func write(to repository: Repository) throws(HoldfastError) -> Write {
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
        let (bodies, receipt) = try perform([write], in: nil, wantsResults: call.verb.answersEntities)
        return Entity(id: write.key.id, body: bodies.first ?? [], version: receipt!.sequence)
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
            let (bodies, receipt) = try perform(
                writes, in: transaction, wantsResults: echoing && call.verb.answersEntities)
            for (write, body) in zip(writes, bodies) {
                try list.append(id: write.key.id, version: receipt?.sequence ?? 0, body: body)
            }
        }
        try list.finish()
        return list
    }
}
