internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Deletes entities whose time has passed: those that an index with "expire_after_ms" leads to. It looks once a second on
/// a thread of its own, which a store without such an index does not have. What it does are commits like any other's: a
/// conflict is met by looking again, and several processes that look at one store do no harm.
final class Expiry: StoreService {
    private struct State {
        weak var store: Store?
        var worker = WorkerOnDemand()
    }

    private let environment: Environment
    private let clock: StoreClock
    private let finished: @Sendable () -> Void
    private let state: Lock<State>

    /// Few, so that others wait for little.
    private var pieceCount: UInt64 { UInt64(environment.limits.expiryPiece) }

    init(for store: Store) {
        environment = store.environment
        clock = store.clock
        finished = store.services.finished
        state = Lock(State(store: store))
    }

    /// Called once. Begins where the store has such an index already; throws when there is no thread for that.
    func begin(for store: Store) throws(HoldfastError) {
        store.services.add(self)
        guard !store.storage.isReadOnly, (try? Self.indexes(of: store))?.isEmpty == false else { return }
        try start()
    }

    /// Without a thread its entities stay until the store is opened again, and that is told.
    func indexCreated(_ definition: IndexDefinition) {
        if definition.expiresAfterMilliseconds == nil { return }
        do throws(HoldfastError) {
            try start()
        } catch {
            state.withLock { $0.store }?.diagnostics.warning(
                "entities whose time has passed are not deleted before the store is opened again",
                [("reason", .text(error.message))])
        }
    }

    private func start() throws(HoldfastError) {
        try state.withLock { state throws(HoldfastError) in
            if state.worker.isClosing { return }
            try state.worker.start(environment.workers, name: "hf-expiry") { [self] in step() }
            state.worker.wake()
        }
    }

    func beginClosing() { state.withLock { $0.worker.beginClosing() } }

    var isFinished: Bool { state.withLock { $0.worker.isFinished } }

    var isCurrentThread: Bool { state.withLock { $0.worker }.isCurrent }

    private func step() -> NextStep {
        let (store, isClosing) = state.withLock { ($0.store, $0.worker.isClosing) }
        guard let store, !isClosing else {
            state.withLock { $0.worker.finish() }
            finished()
            return .finished
        }
        do throws(HoldfastError) {
            try deleteDue(in: store)
        } catch {
            if error.status != .closed {
                store.diagnostics.warning(
                    "entities whose time has passed could not be deleted", [("reason", .text(error.message))])
            }
        }
        return .sleep(until: environment.time.monotonicNanoseconds() &+ UInt64(environment.limits.expiryInterval))
    }

    private func deleteDue(in store: Store) throws(HoldfastError) {
        var failure: HoldfastError?
        for index in try Self.indexes(of: store) {
            // What is wrong with one index, or its entities, is no reason to keep those of another.
            do throws(HoldfastError) {
                try deleteDue(of: index, in: store)
            } catch {
                if error.status == .closed { throw error }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func deleteDue(of index: Index, in store: Store) throws(HoldfastError) {
        let (now, lifetime) = (clock.wallMilliseconds(), index.definition.expiresAfterMilliseconds!)
        guard now >= lifetime, let record = try record(of: index, in: store) else { return }
        let repository = Repository(store: store, record: record)
        let due = Due(index, through: Int64(clamping: now - lifetime))
        // Most times there is nothing to do, and no transaction to be made.
        guard try repository.exists(due.filter, due.options) else { return }
        // Those that may not be deleted stay, and are tried again in a second.
        var refused: [EntityID: HoldfastError] = [:]
        var cursor = try repository.cursor(due.filter, due.options)
        while true {
            let ids: [EntityID]
            do throws(HoldfastError) {
                let found = try cursor.next(pieceCount)
                ids = found.items.map { found.id(of: $0) }
            } catch {
                guard error.status == .conflict else { throw error }
                // It had to go on with a newer state, in which what it has read is gone.
                cursor = try repository.cursor(due.filter, due.options)
                continue
            }
            if ids.isEmpty { break }
            let deleted = try delete(ids.filter { refused[$0] == nil }, due, in: repository, &refused)
            if deleted > 0 {
                store.diagnostics.info(
                    "entities were deleted whose time has passed",
                    [("repository", .text(record.name)), ("entities", .number(deleted))])
            }
        }
        if let (id, reason) = refused.first {
            store.diagnostics.warning(
                "entities whose time has passed may not be deleted",
                [
                    ("repository", .text(record.name)), ("entities", .number(UInt64(refused.count))),
                    ("id", .text(id.text)), ("reason", .text(reason.message)),
                ])
        }
    }

    /// Another process may have created the repository.
    private func record(of index: Index, in store: Store) throws(HoldfastError) -> RepositoryRecord? {
        if let known = store.catalogue.record(of: index.record.repository) { return known }
        try store.refreshCatalogue()
        return store.catalogue.record(of: index.record.repository)
    }

    /// What an index leads to and whose time has passed.
    private struct Due {
        let index: IndexID
        let filter: Filter
        var options = QueryOptions()

        init(_ index: Index, through time: Int64) {
            self.index = index.record.id
            let path = index.definition.fields[0].path
            let source = JSONValue.object([
                JSONValue.Member(
                    name: Array(path.text.utf8),
                    value: .object([JSONValue.Member(name: Array("$lte".utf8), value: .integer(time))]))
            ])
            filter = Filter(root: .path(path, .lessOrEqual(.integer(time))), source: source)
            // Whose text is lost has no time, and must not be in the way of the others.
            options.skipsDamaged = true
        }
    }

    /// All together, or, where that is refused, each by itself. Answers how many are gone.
    private func delete(
        _ ids: [EntityID], _ due: Due, in repository: Repository, _ refused: inout [EntityID: HoldfastError]
    ) throws(HoldfastError) -> UInt64 {
        if ids.isEmpty { return 0 }
        do throws(HoldfastError) {
            return try delete(ids, due, in: repository)
        } catch {
            guard Self.isOfTheEntities(error) else { throw error }
        }
        var count: UInt64 = 0
        for id in ids {
            do throws(HoldfastError) {
                count += try delete([id], due, in: repository)
            } catch {
                guard Self.isOfTheEntities(error) else { throw error }
                refused[id] = error
            }
        }
        return count
    }

    /// Those of them that are still due.
    private func delete(_ ids: [EntityID], _ due: Due, in repository: Repository) throws(HoldfastError) -> UInt64 {
        var count: UInt64 = 0
        var transaction = TransactionOptions()
        transaction.isDurable = false
        _ = try repository.store.transact(transaction) { transaction throws(HoldfastError) in
            var writes: [Write] = []
            for id in ids {
                var isDue = false
                _ = try transaction.fetch(repository.key(id)) { _, body throws(HoldfastError) in
                    isDue = try due.filter.matches(body)
                }
                if isDue { writes.append(Write(key: repository.key(id), action: .delete)) }
            }
            // It may have been dropped since it was looked at. If it goes from here on, that conflicts.
            guard try Self.indexes(of: repository.store).contains(where: { $0.record.id == due.index }) else {
                count = 0
                return
            }
            _ = try repository.perform(writes, in: transaction, wantsResults: false)
            count = UInt64(writes.count)
        }
        return count
    }

    /// Whether an error says something of what was to be deleted, and nothing of the store.
    private static func isOfTheEntities(_ error: HoldfastError) -> Bool {
        if error.commitState != .none { return false }
        switch error.status {
        case .closed, .forked, .io, .full, .busy, .timeout, .readOnly, .noMemory, .internal: return false
        default: return true
        }
    }

    private static func indexes(of store: Store) throws(HoldfastError) -> [Index] {
        // Of its own: one that is shared is kept for a while, and an idle store keeps none.
        let snapshot = try store.storage.beginSnapshot()
        defer { snapshot.close() }
        var indexes: [Index] = []
        for record in try snapshot.indexes() where record.state == .ready {
            // One that cannot be understood is told by the commits that it refuses.
            guard let index = try? Index(record) else { continue }
            if index.definition.expiresAfterMilliseconds != nil { indexes.append(index) }
        }
        return indexes
    }
}
