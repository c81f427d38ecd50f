import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
import Synchronization

/// A connection that one snapshot at a time reads with.
///
/// A snapshot is ended without waiting for whoever is reading from it: the end is noted, and carried out by the one who
/// finds the connection free, which is the one that reads when its call returns.
final class Reader: Sendable {
    /// Nil once the connection was taken away.
    private let connection: Lock<Connection?>
    /// Counts the snapshots that this reader has served, from 1: what a closed snapshot asks no longer matches. Changes
    /// under the lock alone.
    private let lease = Atomic<UInt64>(1)
    /// The newest lease that is not wanted any more.
    private let unwanted = Atomic<UInt64>(0)
    /// Whether the connection is wanted back at once, and whether for good.
    private let isTaken = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)

    init(_ connection: Connection) { self.connection = Lock(connection) }

    /// Begins the transaction of the next snapshot, and tells its lease and the newest commit that it shows.
    func begin() throws(HoldfastError) -> (lease: UInt64, sequence: CommitSequence) {
        try connection.withLock { slot throws(HoldfastError) in
            guard let connection = slot else { throw loss }
            do throws(HoldfastError) {
                try connection.run(.begin, "reading")
                return (lease.load(ordering: .relaxed), try connection.head())
            } catch {
                connection.close()
                slot = nil
                throw error
            }
        }
    }

    /// Runs `body` under this lease. Whoever calls it calls `settle` afterwards if `isUnwanted`.
    func read<Result>(
        _ lease: UInt64, _ body: (Connection) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try connection.withLock { slot throws(HoldfastError) in
            guard !isUnwanted(lease), self.lease.load(ordering: .relaxed) == lease else { throw ReaderPool.taken }
            guard let connection = slot else { throw loss }
            return try body(connection)
        }
    }

    /// For long calls, between two steps.
    func requireNotTaken() throws(HoldfastError) {
        if isTaken.load(ordering: .relaxed) { throw loss }
    }

    // MARK: Ending a lease

    /// Notes that the lease is over.
    func end(_ lease: UInt64) { unwanted.max(lease, ordering: .sequentiallyConsistent) }

    func isUnwanted(_ lease: UInt64) -> Bool { unwanted.load(ordering: .sequentiallyConsistent) >= lease }

    /// Whether a snapshot that is over is still being read from.
    var isLingering: Bool { isUnwanted(lease.load(ordering: .relaxed)) }

    /// Ends the transaction if its lease is over and nobody reads just now. Answers whether this call did.
    func settle() -> Bool {
        // Either this thread finds the lock free, or the one that has it finds, when it has let go of it, what was noted
        // before here.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return connection.withLockIfFree { slot in
            guard isLingering else { return false }
            lease.add(1, ordering: .relaxed)
            // A transaction that only read has nothing to lose; a connection that cannot end it is not kept.
            if let connection = slot, (try? connection.run(.commit, "reading")) == nil {
                connection.close()
                slot = nil
            }
            return true
        } ?? false
    }

    // MARK: Taking the connection away

    /// Has a long call that is under way end soon.
    func interrupt(forGood: Bool) {
        if forGood { isClosed.store(true, ordering: .releasing) }
        isTaken.store(true, ordering: .releasing)
    }

    /// Waits for a call under way.
    func close() {
        connection.withLock { slot in
            slot?.close()
            slot = nil
        }
    }

    var isOpen: Bool { connection.withLock { $0 != nil } }

    func releaseMemory() { connection.withLock { $0?.releaseMemory() } }

    private var loss: HoldfastError { isClosed.load(ordering: .acquiring) ? .storeClosed : ReaderPool.taken }
}
