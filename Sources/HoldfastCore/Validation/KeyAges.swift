internal import HoldfastEnvironment
internal import HoldfastStorage

/// How old idempotency keys are. Their clock reads the calendar once, when the store is opened, and then counts
/// steadily: a calendar that is set while the store is open, by years perhaps, makes no key old that was just used.
struct KeyAges: Sendable {
    /// In milliseconds.
    let maxAge: UInt64
    private let time: any TimeSource
    private let calendarAtOpening: UInt64
    private let nanosecondsAtOpening: UInt64

    init(time: any TimeSource, maxAge: UInt64) {
        self.maxAge = maxAge
        self.time = time
        calendarAtOpening = time.wallMilliseconds()
        nanosecondsAtOpening = time.monotonicNanoseconds()
    }

    /// What a record is dated with.
    var now: UInt64 { calendarAtOpening &+ (time.monotonicNanoseconds() &- nanosecondsAtOpening) / 1_000_000 }

    /// A record from the future, written before the calendar was set back, is not old.
    func isExpired(_ record: IdempotencyRecord) -> Bool {
        let now = now
        return now > record.time && now - record.time > maxAge
    }

    /// Records dated before are of no more use; nil for none.
    var horizon: UInt64? {
        let now = now
        return now > maxAge ? now - maxAge : nil
    }
}
