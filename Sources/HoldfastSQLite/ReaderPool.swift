import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
import Synchronization

/// The connections that read. Idle ones are kept for the next snapshot, because opening one means reading the schema.
final class ReaderPool: Sendable {
    private enum Phase {
        case serving
        /// No snapshot is given: the store is being reopened.
        case withheld
        case closed

        func requireServing() throws(HoldfastError) {
            switch self {
            case .serving: return
            case .withheld: throw ReaderPool.withheld
            case .closed: throw HoldfastError.storeClosed
            }
        }
    }

    private struct State {
        var phase = Phase.serving
        var idle: [Reader] = []
        /// Those with a snapshot. Held strongly, so that `closeAll` misses none that is about to be given back.
        var lent: [ObjectIdentifier: Reader] = [:]
    }

    /// Whether nobody can change what is read.
    let isImmutable: Bool

    private let state = Lock(State())
    /// nil while none is open; guarded by the lock. Apart from the state, whose lock may be held while a connection is opened.
    private let index = Lock<WALIndex?>(nil)
    /// The address of what it has mapped, 0 for none, for those who read the header: each cached read does, so that none takes
    /// a lock that another takes. The index is let go when they have left.
    private let mapped = Atomic<UInt>(0)
    private let headerReaders = Readers()
    private let files: StoreFiles
    let limits: Limits
    private let connect: @Sendable () throws(HoldfastError) -> Connection

    init(
        of files: StoreFiles, _ limits: Limits, isImmutable: Bool = false,
        connect: @escaping @Sendable () throws(HoldfastError) -> Connection
    ) throws(HoldfastError) {
        self.files = files
        self.limits = limits
        self.isImmutable = isImmutable
        self.connect = connect
        try serve()
    }

    /// What the index of the write-ahead log says now; nil while somebody is changing it, or while no snapshot is given.
    func walHeader() -> WALHeader? {
        let visit = headerReaders.enter()
        defer { visit.leave() }
        return UnsafeRawPointer(bitPattern: mapped.load(ordering: .acquiring)).flatMap { WALHeader(in: $0) }
    }

    /// As `Storage.changeToken`.
    var changeToken: ChangeToken? { isImmutable ? ChangeToken(0) : walHeader().map { ChangeToken($0.words) } }

    /// A connection for reading, of whoever asks.
    func open() throws(HoldfastError) -> Connection {
        do throws(HoldfastError) {
            return try connectToFiles()
        } catch {
            // A store that is closed meanwhile deletes its WAL, which is no fault of the files.
            try state.withLock { state throws(HoldfastError) in try state.phase.requireServing() }
            throw error
        }
    }

    private func connectToFiles() throws(HoldfastError) -> Connection { try files.open(walHeader, by: connect) }

    /// A reader in whose transaction the newest commit is `sequence`.
    func begin() throws(HoldfastError) -> (reader: Reader, lease: UInt64, sequence: CommitSequence) {
        // All under the lock: a snapshot fixed, or a connection opened, beside `closeAll` would slip through it.
        try state.withLock { state throws(HoldfastError) in
            try state.phase.requireServing()
            let reader = if let idle = state.idle.popLast() { idle } else { Reader(try connectToFiles()) }
            let (lease, sequence) = try reader.begin()
            state.lent[ObjectIdentifier(reader)] = reader
            return (reader, lease, sequence)
        }
    }

    /// Reads with what `begin` gave.
    func read<Result>(
        _ reader: Reader, _ lease: UInt64, _ body: (Connection) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        defer {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            if reader.isUnwanted(lease) { settle(reader) }
        }
        return try reader.read(lease, body)
    }

    /// Ends the reader's transaction, after which the lease no longer holds: at once, or, where a call is just reading,
    /// when that returns. Waits for nobody. May be called again.
    func end(_ reader: Reader, lease: UInt64) {
        reader.end(lease)
        settle(reader)
    }

    /// Whether somebody is still reading from a snapshot that was closed meanwhile.
    var hasLingering: Bool { state.withLock { $0.lent.values.contains { $0.isLingering } } }

    private func settle(_ reader: Reader) {
        guard reader.settle() else { return }
        let isKept = state.withLock { state in
            guard state.lent.removeValue(forKey: ObjectIdentifier(reader)) != nil, state.phase == .serving,
                state.idle.count < limits.idleReaders, reader.isOpen
            else { return false }
            // The one that was used last is used next, so those at the bottom are the ones that wait longest.
            let warm = limits.warmReaders
            if state.idle.count >= warm { state.idle[state.idle.count - warm].releaseMemory() }
            state.idle.append(reader)
            return true
        }
        if !isKept { reader.close() }
    }

    /// Closes every connection and gives no snapshot until `serve`. Those that are open find theirs gone.
    func closeAll() { end(in: .withheld) }

    func serve() throws(HoldfastError) {
        if !isImmutable {
            let opened = try WALIndex(try connectToFiles())
            show(opened)
        }
        state.withLock { if $0.phase == .withheld { $0.phase = .serving } }
    }

    /// As `closeAll`, for good.
    func close() { end(in: .closed) }

    private func end(in phase: Phase) {
        let readers = state.withLock { state in
            let readers = state.idle + state.lent.values
            state = State(phase: phase)
            return readers
        }
        for reader in readers { reader.interrupt(forGood: phase == .closed) }
        for reader in readers { reader.close() }
        show(nil)
    }

    private func show(_ opened: WALIndex?) {
        index.withLock { index in
            mapped.store(opened.map { UInt(bitPattern: $0.mapped) } ?? 0, ordering: .releasing)
            headerReaders.awaitLeaving()
            index = opened
        }
    }

    static let taken = HoldfastError(
        .io, "the snapshot was closed, or ended because the store was reopened after a failed commit: begin a new one")
    private static let withheld = HoldfastError(
        .io, "a commit has failed and the store could not be reopened yet, so nothing is read: check the disk")
}
