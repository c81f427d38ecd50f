import HoldfastCore
internal import HoldfastEnvironment
import Synchronization

/// Whether something that is visible may not be durable, because a sync or a COMMIT failed. While it lasts nothing
/// more is committed, and nothing copied out of the WAL; `SQLiteStorage.recover` ends it.
///
/// What a failed sync has not written no later one writes, in whatever process: see WALFile.rewrite. Linux tells each
/// descriptor of it that was open then, and none that is opened later. So the processes that share the store tell each
/// other, and each writes the WAL anew before it relies on it (`isElsewhere`).
final class Doubt: Sendable {
    private let flag = Atomic(false)
    /// Whether another process's failure was seen by `isElsewhere`.
    private let seen = Atomic(false)
    /// The newest failure, of whatever process, behind which the WAL was written anew.
    private let settled = Atomic<UInt64>(0)
    /// Nil for a store that is only read, and once it is closed.
    private let shared: Lock<StoreLock?>

    init(_ lock: StoreLock?) { shared = Lock(lock) }

    var lasts: Bool { flag.load(ordering: .acquiring) }
    func arise() { flag.store(true, ordering: .releasing) }

    /// A sync of this process has failed.
    func noteFailedSync() {
        arise()
        shared.withLock { $0?.noteFailedSync() }
    }

    /// The newest failure of all processes; 0: none.
    var failure: UInt64 { shared.withLock { $0?.failedSync ?? 0 } }

    /// Whether a sync has failed, in whatever process, behind which this one has not written the WAL anew. Costs a system
    /// call.
    var isElsewhere: Bool {
        let newest = failure
        guard newest != 0, newest != settled.load(ordering: .acquiring) else { return false }
        seen.store(true, ordering: .releasing)
        return true
    }

    /// What `isElsewhere` answered last.
    var wasElsewhere: Bool { seen.load(ordering: .acquiring) }

    /// `failure` is what that was before the WAL was written anew.
    func settle(_ failure: UInt64) {
        settled.store(failure, ordering: .releasing)
        seen.store(false, ordering: .releasing)
        flag.store(false, ordering: .releasing)
    }

    /// Lets go of the lock, which ends with the store.
    func close() { shared.withLock { $0 = nil } }
}
