import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastStorage
import Synchronization

/// Copies the write-ahead log into the database file, on a thread and a connection of its own.
///
///     every 32 MiB of WAL    PASSIVE: disturbs nobody
///     from 64 MiB on         RESTART: copies the rest while writers wait for a moment, so that the next writer
///                            overwrites the WAL from its beginning. PASSIVE alone never gets there under load,
///                            because the WAL grows while it copies
///     beyond the limit       the core takes all snapshots back, since one that reads from the WAL keeps it from
///                            being overwritten, and backups begin anew; then RESTART
///     idle for two seconds   TRUNCATE
///
/// Idle for some milliseconds, it ends the read transaction that is kept between commits.
///
/// A page that was written many times is copied once, so that long logs cost less in all; below a limit of 256 MiB
/// the first two sizes shrink with it.
///
/// While a snapshot stands in the way, those older than their maximal age are taken back from time to time.
final class Checkpointer: Sendable {
    struct Settings: Sendable {
        var passiveBytes: Int { max(1, restartBytes / 2) }
        var restartBytes: Int { min(limits.checkpointBytes, limitBytes / 4) }
        var limitBytes: Int
        var snapshotMaxAge: UInt64
        var limits: Limits
    }

    private struct State {
        var connection: Connection?
        var isStopped = false
        weak var host: (any StorageHost)?
        /// The WAL's size from which RESTART is tried again.
        var restartAt = 0
        /// When snapshots are asked back again, if something stands in the way.
        var retryAt: UInt64?
    }

    private static let pageBytes = 4096

    private let settings: Settings
    private let time: any TimeSource
    private let doubt: Doubt
    private let keptRead: KeptRead
    private let check: @Sendable () throws(HoldfastError) -> Void
    private let isHeldUp: @Sendable () -> Bool
    private let takeBackCopies: @Sendable () -> Void
    private let connect: @Sendable () throws(HoldfastError) -> Connection
    private let state = Lock(State())
    /// Apart from the state, whose lock is held during a checkpoint.
    private let worker = Lock<(any Worker)?>(nil)

    // Set by the committing thread, which takes no lock for it.
    private let frames = Atomic(0)
    private let lastCommit = Atomic<UInt64>(0)
    /// How many frames the WAL had at the last pass.
    private let copied = Atomic(0)
    /// Whether the worker knows that there is something to do in the end.
    private let isAwake = Atomic(false)

    /// `isHeldUp`: whether this process is reading from the WAL although it was asked not to.
    init(
        settings: Settings, time: any TimeSource, doubt: Doubt, keptRead: KeptRead,
        check: @escaping @Sendable () throws(HoldfastError) -> Void, isHeldUp: @escaping @Sendable () -> Bool,
        takeBackCopies: @escaping @Sendable () -> Void,
        connect: @escaping @Sendable () throws(HoldfastError) -> Connection
    ) {
        self.settings = settings
        self.time = time
        self.doubt = doubt
        self.keptRead = keptRead
        self.check = check
        self.isHeldUp = isHeldUp
        self.takeBackCopies = takeBackCopies
        self.connect = connect
    }

    func start(_ workers: any Workers) throws(HoldfastError) {
        let started = try workers.start(name: "hf-checkpoint") { [self] in step() }
        worker.withLock { $0 = started }
    }

    func attach(_ host: any StorageHost) { state.withLock { $0.host = host } }

    /// Ends the worker and waits for it, and for the pass that it is in.
    func stop() {
        state.withLock { $0.isStopped = true }
        if let worker = worker.withLock({ $0.take() }) {
            worker.wake()
            if !worker.isCurrent { _ = worker.waitUntilFinished(deadline: nil) }
        }
        state.withLock { $0.connection = nil }
    }

    /// Runs `body` while no checkpoint runs and none has a connection.
    func pausing<Result>(_ body: () throws(HoldfastError) -> Result) throws(HoldfastError) -> Result {
        try state.withLock { state throws(HoldfastError) in
            state.connection = nil
            return try body()
        }
    }

    /// Notes a commit, after which the WAL has so many frames. Called by the committing thread; never waits.
    func noteCommit(frames: Int) {
        // Fewer than at the last pass: the WAL was begun anew.
        if frames < copied.load(ordering: .relaxed) { copied.store(0, ordering: .relaxed) }
        self.frames.store(frames, ordering: .relaxed)
        lastCommit.store(time.monotonicNanoseconds(), ordering: .releasing)
        let isDue = (frames - copied.load(ordering: .relaxed)) * Self.pageBytes >= settings.passiveBytes
        if isDue || !isAwake.exchange(true, ordering: .acquiringAndReleasing) {
            worker.withLock { $0 }?.wake()
        }
    }

    // MARK: The worker's steps

    private func step() -> NextStep {
        if state.withLock({ $0.isStopped }) { return .finished }
        let now = time.monotonicNanoseconds()
        let pending = (frames.load(ordering: .relaxed) - copied.load(ordering: .relaxed)) * Self.pageBytes
        if pending >= settings.passiveBytes {
            pass()
            return .again
        }
        if let retryAt = state.withLock({ $0.retryAt }), retryAt <= now {
            askForSnapshots(olderThan: settings.snapshotMaxAge)
            pass(mustRestart: true)
            return .again
        }
        return idle(now)
    }

    private func idle(_ now: UInt64) -> NextStep {
        let retryAt = state.withLock { $0.retryAt }
        let last = lastCommit.load(ordering: .acquiring)
        let due = last &+ UInt64(settings.limits.checkpointIdle)
        let end = last &+ UInt64(settings.limits.keptReadIdle)
        let hasFrames = frames.load(ordering: .relaxed) > 0
        if hasFrames && now < min(due, end) { return .sleep(until: min(due, end, retryAt ?? due)) }
        keptRead.giveUpIdle()
        if hasFrames && now >= due && retryAt == nil {
            checkpoint(.truncate, waiting: 0)
            return .again
        }
        isAwake.store(false, ordering: .sequentiallyConsistent)
        // A commit that came before the line above did not wake this worker.
        if lastCommit.load(ordering: .sequentiallyConsistent) != last { return .again }
        return .sleep(until: retryAt ?? (hasFrames ? due : nil))
    }

    private func pass(mustRestart: Bool = false) {
        guard let first = checkpoint(.passive, waiting: 0) else { return }
        let bytes = first * Self.pageBytes
        guard mustRestart || bytes >= max(settings.restartBytes, state.withLock { $0.restartAt }) else { return }
        // Most is copied and synced above, what has come since here, so that writers wait for little.
        _ = checkpoint(.passive, waiting: 0)
        if bytes > settings.limitBytes {
            askForSnapshots(olderThan: nil)
            takeBackCopies()
        }
        // Writers would wait in vain while somebody goes on reading from a snapshot that was taken back.
        if isHeldUp() { return state.withLock { retryLater(&$0) } }
        let limits = settings.limits
        checkpoint(
            .restart, waiting: bytes > settings.limitBytes ? limits.checkpointLongPatience : limits.checkpointPatience)
    }

    private func askForSnapshots(olderThan age: UInt64?) {
        // Outside the lock: the core's own locks come before this one.
        state.withLock { $0.host }?.releaseSnapshots(olderThanMilliseconds: age)
    }

    /// The number of frames in the WAL, or nil if nothing could be done.
    @discardableResult
    private func checkpoint(_ kind: Connection.Checkpoint, waiting nanoseconds: Int) -> Int? {
        let before = frames.load(ordering: .acquiring)
        return state.withLock { state in
            if state.isStopped { return nil }
            // After a sync that failed another one says nothing of the same pages. The WAL must first be written anew, by
            // the next commit or the close: were it copied now, a power cut could leave half of it in the database, and
            // not the WAL to finish from. Where no connection can be opened no sync has failed: of files that were
            // displaced the WAL still has the commits, for whoever closes the store.
            guard !doubt.lasts, (try? check()) != nil, let connection = try? state.connection ?? connect() else {
                postpone(before, &state)
                return nil
            }
            state.connection = connection
            do throws(HoldfastError) {
                // So it is after another process's. Files that are open are told of those that come behind this look.
                guard !doubt.isElsewhere else {
                    postpone(before, &state)
                    return nil
                }
                connection.setPatience(nanoseconds, settings.limits)
                let result = try keptRead.without { () throws(HoldfastError) in try connection.checkpoint(kind) }
                // Notes how long the database's file is now; what is wrong is found before the next pass.
                try? check()
                copied.store(max(before, result.frames), ordering: .relaxed)
                guard !result.isBlocked else {
                    retryLater(&state)
                    return kind == .passive ? nil : result.frames
                }
                if kind != .passive {
                    state.restartAt = 0
                    state.retryAt = nil
                }
                // Unless there was a commit meanwhile, which then is found by the next step.
                if kind == .truncate { _ = frames.compareExchange(expected: before, desired: 0, ordering: .relaxed) }
                return result.frames
            } catch {
                // The WAL stays as it is and grows on; a later pass may succeed. But a failed sync says that pages
                // may be lost that a later sync would not write: see WALFile.rewrite.
                if error.status == .io { doubt.arise() }
                postpone(before, &state)
                return nil
            }
        }
    }

    private func postpone(_ frames: Int, _ state: inout State) {
        state.connection = nil
        copied.store(frames, ordering: .relaxed)
        state.retryAt = time.monotonicNanoseconds() &+ UInt64(settings.limits.checkpointRetry)
    }

    /// After somebody stood in the way: tried less and less often below the limit, because writers wait each time.
    private func retryLater(_ state: inout State) {
        let bytes = frames.load(ordering: .relaxed) * Self.pageBytes
        state.restartAt = min(bytes * 2, max(bytes + settings.restartBytes, settings.limitBytes))
        let quarter = settings.snapshotMaxAge.multipliedClamped(by: 1_000_000) / 4
        let span = min(
            max(quarter, UInt64(settings.limits.checkpointShortRetry)), UInt64(settings.limits.checkpointLongRetry))
        state.retryAt = time.monotonicNanoseconds() &+ span
    }
}
