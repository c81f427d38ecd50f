import HoldfastCore

/// A connection that one snapshot at a time reads with.
typealias Reader = Lock<ReaderSlot>

struct ReaderSlot: Sendable {
    /// nil once the connection was taken away.
    var connection: Connection?
    /// Why it was.
    var loss = ReaderPool.taken
    /// Counts the snapshots that this reader has served: what a closed snapshot asks no longer matches.
    var lease: UInt64 = 0
}

/// The connections that read. Idle ones are kept for the next snapshot, because opening one means reading the schema.
final class ReaderPool: Sendable {
    private enum Phase {
        case serving
        /// No snapshot is given: the store is being reopened.
        case withheld
        case closed
    }

    private struct State {
        var phase = Phase.serving
        var idle: [Reader] = []
        /// Those with a snapshot. Held strongly, so that `closeAll` misses none that is about to be given back.
        var lent: [ObjectIdentifier: Reader] = [:]
    }

    private static let idleLimit = 8
    /// Of those that are idle: how many keep the pages that they have read.
    private static let warmLimit = 2

    /// Whether nobody can change what is read.
    let isImmutable: Bool

    private let state = Lock(State())
    /// Apart from the state, whose lock may be held while a connection is opened. nil while none is open.
    private let index = Lock<WALIndex?>(nil)
    private let files: StoreFiles
    private let connect: @Sendable () throws(HoldfastError) -> Connection

    init(
        of files: StoreFiles, isImmutable: Bool = false,
        connect: @escaping @Sendable () throws(HoldfastError) -> Connection
    ) throws(HoldfastError) {
        self.files = files
        self.isImmutable = isImmutable
        self.connect = connect
        try serve()
    }

    /// What the index of the write-ahead log says now; nil while somebody is changing it, or while no snapshot is given.
    func walHeader() -> WALHeader? { index.withLock { $0?.header() } }

    /// As `Storage.changeToken`.
    var changeToken: ChangeToken? { isImmutable ? ChangeToken(0) : walHeader().map { ChangeToken($0.words) } }

    private func open() throws(HoldfastError) -> Connection {
        try files.check(walHeader)
        return try connect()
    }

    /// A reader in whose transaction the newest commit is `sequence`.
    func begin() throws(HoldfastError) -> (reader: Reader, lease: UInt64, sequence: CommitSequence) {
        // All under the lock: a snapshot fixed, or a connection opened, beside `closeAll` would slip through it.
        try state.withLock { state throws(HoldfastError) in
            switch state.phase {
            case .serving: break
            case .withheld: throw Self.withheld
            case .closed: throw Store.closed
            }
            let reader =
                if let idle = state.idle.popLast() { idle } else { Reader(ReaderSlot(connection: try open())) }
            let (lease, sequence) = try reader.withLock { slot throws(HoldfastError) -> (UInt64, CommitSequence) in
                guard let connection = slot.connection else { throw slot.loss }
                do throws(HoldfastError) {
                    try connection.run(.begin, "reading")
                    return (slot.lease, try connection.head())
                } catch {
                    connection.close()
                    slot.connection = nil
                    throw error
                }
            }
            state.lent[ObjectIdentifier(reader)] = reader
            return (reader, lease, sequence)
        }
    }

    /// Ends the reader's transaction, after which the lease no longer holds. May be called again.
    func end(_ reader: Reader, lease: UInt64) {
        let hasEnded = reader.withLock { slot in
            guard slot.lease == lease else { return false }
            slot.lease += 1
            // A transaction that only read has nothing to lose; a connection that cannot end it is not kept.
            if let connection = slot.connection, (try? connection.run(.commit, "reading")) == nil {
                connection.close()
                slot.connection = nil
            }
            return true
        }
        guard hasEnded else { return }
        let isKept = state.withLock { state in
            guard state.lent.removeValue(forKey: ObjectIdentifier(reader)) != nil, state.phase == .serving,
                state.idle.count < Self.idleLimit, reader.withLock({ $0.connection != nil })
            else { return false }
            // The one that was used last is used next, so those at the bottom are the ones that wait longest.
            if state.idle.count >= Self.warmLimit {
                state.idle[state.idle.count - Self.warmLimit].withLock { $0.connection?.releaseMemory() }
            }
            state.idle.append(reader)
            return true
        }
        if !isKept { Self.close(reader) }
    }

    /// Closes every connection and gives no snapshot until `serve`. Those that are open find theirs gone.
    func closeAll() { end(in: .withheld) }

    func serve() throws(HoldfastError) {
        if !isImmutable {
            let opened = try WALIndex(try open())
            index.withLock { $0 = opened }
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
        for reader in readers { Self.close(reader, phase == .closed ? Store.closed : Self.taken) }
        index.withLock { $0 = nil }
    }

    private static func close(_ reader: Reader, _ loss: HoldfastError = taken) {
        reader.withLock { slot in
            slot.loss = loss
            slot.connection?.close()
            slot.connection = nil
        }
    }

    static let taken = HoldfastError(
        .io, "the snapshot was closed, or ended because the store was reopened after a failed commit: begin a new one")
    private static let withheld = HoldfastError(
        .io, "a commit has failed and the store could not be reopened yet, so nothing is read: check the disk")
}
