public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

/// Checks what is about to be stored in a repository.
public protocol EntityValidator: AnyObject, Sendable {
    /// `body` is nil for an entity that is to be deleted. Refuses by throwing. May read and write in the transaction.
    /// Called on the thread that commits, without a lock held.
    func validate(_ id: EntityID, _ body: [UInt8]?, in transaction: Transaction) throws(HoldfastError)
}

/// The validators of a store, at most one for each repository.
final class Validators: Sendable {
    private let byRepository = Lock<[RepositoryID: any EntityValidator]>([:])
    /// So that a store without any asks for none at little cost.
    private let count = Atomic<Int>(0)

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    subscript(repository: RepositoryID) -> (any EntityValidator)? {
        isEmpty ? nil : byRepository.withLock { $0[repository] }
    }

    func set(_ validator: (any EntityValidator)?, of repository: RepositoryID) {
        // Let go outside the lock: it may call the host.
        let before = byRepository.withLock { validators in
            let before = validators[repository]
            validators[repository] = validator
            count.store(validators.count, ordering: .releasing)
            return before
        }
        _ = before
    }

    func removeAll() {
        let all = byRepository.withLock { validators in
            defer { validators = [:] }
            count.store(0, ordering: .releasing)
            return validators
        }
        _ = all
    }

    /// Whether anybody has to be asked about what was written.
    func concern(_ buffer: WriteBuffer) -> Bool {
        if isEmpty { return false }
        return byRepository.withLock { validators in buffer.contains { validators[$0.repository] != nil } }
    }
}

extension Repository {
    /// Replaces what checks the entities that this process stores here through this store; nil for nothing.
    public func setValidator(_ validator: (any EntityValidator)?) throws(HoldfastError) {
        try store.requireOpen()
        store.validators.set(validator, of: record.id)
    }

    /// Whether a write has to be a transaction, because a validator is to see what comes of it.
    package var isValidated: Bool { store.validators[record.id] != nil }
}

extension Transaction {
    /// Asks the validators of repositories about what was written after `mark`, in the order of the keys. Answers how much
    /// has been written by then, or nil where there was nothing to ask.
    func validateEntities(writtenAfter mark: Int?) throws(HoldfastError) -> Int? {
        let (written, next) = state.withLock { ($0.buffer.entries(writtenAfter: mark), $0.buffer.undoCount) }
        var isAnyAsked = false
        for (key, entry) in written {
            guard let validator = store.validators[key.repository] else { continue }
            isAnyAsked = true
            var failure: HoldfastError?
            let isSame = isSameProcess {
                do throws(HoldfastError) {
                    try validator.validate(key.id, entry?.body, in: self)
                } catch { failure = error }
            }
            guard isSame else { throw HoldfastError.forked }
            if var refusal = failure {
                refusal.detail += [
                    ("repository", .text(store.catalogue.name(of: key.repository))), ("id", .text(key.id.text)),
                ]
                throw refusal
            }
        }
        return isAnyAsked ? next : nil
    }
}
