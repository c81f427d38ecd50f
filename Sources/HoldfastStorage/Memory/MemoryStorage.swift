public import HoldfastEnvironment
public import HoldfastQuery
internal import Synchronization

/// The engine in memory: many versions at once, because a snapshot is a copy of a persistent value. Every commit
/// is as durable as this object. Its state can be taken out, and a storage be started from one.
public final class MemoryStorage: Storage {
    public let engine = "memory"
    public let location: String
    public let isReadOnly = false

    private struct Guarded {
        var state: MemoryState
        var isWriting = false
        var isClosed = false
    }

    private let guarded: Lock<Guarded>
    /// Rises when open snapshots end.
    private let epoch = Atomic<UInt64>(0)

    /// Begins with a state, by default an empty one. A state whose storage was not closed is taken as left uncleanly.
    public init(state: MemoryState = .fresh(), location: String = "memory:") {
        self.location = location
        var state = state
        state.skipReserved()
        guarded = Lock(Guarded(state: state))
    }

    /// What is committed now; after `close`, what was.
    public var state: MemoryState { guarded.withLock { $0.state } }

    public func readState() throws(HoldfastError) -> StorageState {
        let state = try openState()
        return StorageState(
            incarnation: state.incarnation, head: state.newestSequence,
            reservedThrough: state.reservedThrough, repositories: state.repositories, format: 1)
    }

    public var changeToken: ChangeToken? { ChangeToken(guarded.withLock { $0.state.newestSequence }) }

    public func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot {
        let epoch = epoch.load(ordering: .acquiring)
        return MemorySnapshot(of: self, state: try openState(), epoch: epoch)
    }

    /// There is only this process.
    public func acquireWriteLock(until deadline: UInt64) throws(HoldfastError) -> Bool { true }
    public func releaseWriteLock() {}

    public func beginWrite(durable: Bool, until deadline: UInt64) throws(HoldfastError) -> any StorageWrite {
        let state = try guarded.withLock { (guarded) throws(HoldfastError) in
            try Self.requireOpen(guarded)
            guard !guarded.isWriting else {
                throw HoldfastError(.busy, "another write transaction is open on \(location): try again")
            }
            guarded.isWriting = true
            return guarded.state
        }
        return MemoryWrite(of: self, state: state)
    }

    public func sync() throws(HoldfastError) { _ = try openState() }

    public func recover() throws(HoldfastError) { epoch.add(1, ordering: .acquiringAndReleasing) }

    public func resolve(_ commits: [CommitName]) throws(HoldfastError) -> [Bool] {
        let log = try openState().commitLog
        return commits.map { log[$0.sequence]?.commitIdentifier == $0.identifier }
    }

    public func close(head: CommitSequence) throws(HoldfastError) {
        guarded.withLock { guarded in
            guarded.state.reservedThrough = max(head, guarded.state.newestSequence)
            guarded.isClosed = true
        }
        epoch.add(1, ordering: .acquiringAndReleasing)
    }

    /// Nothing of the core's is needed: a snapshot pins only memory.
    public func attach(_ host: any StorageHost) {}

    // MARK: For its snapshots and its writes

    /// Whether nothing has ended the snapshots that were begun in this epoch; `.closed` if closing has.
    package func isCurrent(_ epoch: UInt64) throws(HoldfastError) -> Bool {
        if self.epoch.load(ordering: .acquiring) == epoch { return true }
        try guarded.withLock { (guarded) throws(HoldfastError) in try Self.requireOpen(guarded) }
        return false
    }

    /// Ends the write transaction; what is not nil becomes the state.
    package func endWrite(publishing state: MemoryState?) {
        guarded.withLock { guarded in
            if let state { guarded.state = state }
            guarded.isWriting = false
        }
    }

    private func openState() throws(HoldfastError) -> MemoryState {
        try guarded.withLock { (guarded) throws(HoldfastError) in
            try Self.requireOpen(guarded)
            return guarded.state
        }
    }

    private static func requireOpen(_ guarded: Guarded) throws(HoldfastError) {
        if guarded.isClosed { throw HoldfastError.storeClosed }
    }
}
