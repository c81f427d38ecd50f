import HoldfastCore
internal import HoldfastEnvironment

/// How a backup goes beside commits, of whatever process: after each piece of its work in which there was one it rests, so many
/// times as long as the piece took. They need the same processors, memory and disk, and a backup has time. Without
/// commits it never rests, and however many there are it takes no more than so many times as long in all.
///
/// While it copies, the WAL cannot be begun anew. Once that has half the length that it is allowed the backup hurries.
///
/// Used by one thread at a time.
final class BackupPace: Sendable {
    private struct State {
        /// Counts commits; nil while somebody is changing it.
        var commits: UInt32?
        /// When the piece began.
        var began: UInt64
    }

    private let header: @Sendable () -> WALHeader?
    private let walLimit: Int
    private let environment: Environment
    private let state: Lock<State>

    /// `header` reads the WAL's index; `walLimit` is in bytes.
    init(_ header: @escaping @Sendable () -> WALHeader?, walLimit: Int, _ environment: Environment) {
        self.header = header
        self.walLimit = walLimit
        self.environment = environment
        state = Lock(State(commits: header()?.changes, began: environment.time.monotonicNanoseconds()))
    }

    /// To be called between two pieces.
    func rest() {
        let pause = pause()
        if pause == 0 { return }
        usleep(microseconds(pause))
        state.withLock { $0.began = environment.time.monotonicNanoseconds() }
    }

    /// How long it is to rest, in nanoseconds.
    func pause() -> Int {
        state.withLock { state in
            let limits = environment.limits
            let now = environment.time.monotonicNanoseconds()
            let took = now &- state.began
            // Parts of a piece.
            if took < UInt64(limits.backupPiece) { return 0 }
            let header = header()
            defer { state = State(commits: header?.changes, began: now) }
            let isHurried = header.map { $0.walBytes > walLimit / 2 } ?? false
            if isHurried || header?.changes == state.commits { return 0 }
            return Int(min(took.multipliedClamped(by: UInt64(limits.backupRest)), UInt64(limits.backupLongestRest)))
        }
    }
}
