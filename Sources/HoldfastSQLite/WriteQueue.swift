import CHoldfastPlatform
import HoldfastCore
internal import HoldfastEnvironment

/// The queue in which processes wait for the write lock, in the order in which they came. SQLite's own lock lets
/// in whoever asks at the right moment, so that a busy process could keep the others out for long.
///
/// It is made of locks on bytes of the sidecar file. The first is the write lock; behind it lie the positions in which
/// processes wait. A process moves up by locking the byte before its own and then letting go of its own, so nobody
/// overtakes; a process that dies leaves its position, because its locks go with it. (Each waits on its predecessor
/// alone, as in the queue locks of Mellor-Crummey and Scott, 1991.) Who finds every position taken waits for the last
/// one.
///
/// Waiting is looking again after a short sleep: the kernel's own waiting knows no timeouts.
///
/// A process that has met nobody for a while writes without asking, and asks again now and then: three locks are a
/// noticeable part of a commit that is not synced. SQLite's lock is what keeps two from writing at once: another that comes
/// in between waits for that lock, about as long, and who then finds it taken gets in line.
final class WriteQueue: Sendable {
    private struct State {
        /// 0: this process has the write lock. nil: not in the queue.
        var position: Int64?
        /// Since when the lock is waited for, in however many calls; nil: it is not.
        var began: UInt64?
        /// When somebody else was met last.
        var met: UInt64
        var asked: UInt64 = 0
    }

    private let lock: StoreLock
    private let time: any TimeSource
    private let limits: Limits
    private let positions: Int64
    private let state: Lock<State>

    init(_ lock: StoreLock, _ environment: Environment) {
        self.lock = lock
        time = environment.time
        limits = environment.limits
        // Each that is passed takes a call into the system.
        positions = Int64(min(environment.limits.queuePlaces, 1024))
        state = Lock(State(met: time.monotonicNanoseconds()))
    }

    /// Waits for the write lock at most until the monotonic time `deadline`. Answers whether it was acquired; if not, the
    /// position in the queue is kept until `leave`. Called by one thread at a time.
    func acquireWriteLock(until deadline: UInt64) throws(HoldfastError) -> Bool {
        try state.withLock { state throws(HoldfastError) in
            if state.position == 0 { return true }
            let now = time.monotonicNanoseconds()
            if state.position == nil && state.began == nil {
                let isAlone = now &- state.met > UInt64(limits.queueSolitude)
                if isAlone && now &- state.asked < UInt64(limits.queueConfidence) { return true }
                state.asked = now
                if try stepIn(&state.position) { return true }
            }
            let began = state.began ?? now
            state.began = began
            while try !moveUp(&state.position) {
                state.met = time.monotonicNanoseconds()
                if state.met >= deadline { return false }
                usleep(pause(state.position, waited: Int(clamping: state.met &- began)))
            }
            state.began = nil
            return true
        }
    }

    /// Whether this process writes without asking.
    var isAlone: Bool { state.withLock { $0.position == nil } }

    /// Somebody else has written, or is just writing.
    func noteOthers() { state.withLock { $0.met = time.monotonicNanoseconds() } }

    /// Releases the lock, or gives up the position.
    func leave() {
        state.withLock { state in
            state.began = nil
            guard state.position != nil else { return }
            state.position = nil
            // Unlocking fails only where locking did.
            _ = try? lock.set(HFPLATFORM_UNLOCKED, StoreLock.queueStart, count: positions + 1)
        }
    }

    /// Takes everything at once, which succeeds when nobody is there.
    private func stepIn(_ position: inout Int64?) throws(HoldfastError) -> Bool {
        guard try lock.set(HFPLATFORM_EXCLUSIVE, StoreLock.queueStart, count: positions + 1) else { return false }
        _ = try lock.set(HFPLATFORM_UNLOCKED, StoreLock.queueStart + 1, count: positions)
        position = 0
        return true
    }

    /// Moves up as far as it goes. Answers whether the lock is held.
    private func moveUp(_ position: inout Int64?) throws(HoldfastError) -> Bool {
        while position != 0 {
            let next = (position ?? positions + 1) - 1
            guard try lock.set(HFPLATFORM_EXCLUSIVE, StoreLock.queueStart + next) else { return false }
            if let position { _ = try lock.set(HFPLATFORM_UNLOCKED, StoreLock.queueStart + position) }
            position = next
        }
        return true
    }

    /// In microseconds: short for the next in line, and longer when whoever writes takes long.
    private func pause(_ position: Int64?, waited nanoseconds: Int) -> UInt32 {
        if nanoseconds / 200 > limits.queueLongestPause { return microseconds(limits.queueLongestPause) }
        if nanoseconds / 20 > limits.queueLongPause { return microseconds(limits.queueLongPause) }
        return microseconds(position == 1 ? limits.queueNextPause : limits.queuePause)
    }
}

/// As usleep(3) takes a span of `Limits`.
func microseconds(_ nanoseconds: Int) -> UInt32 { UInt32(clamping: nanoseconds / 1000) }
