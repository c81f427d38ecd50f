public import Holdfast

extension CachePolicy {
    /// A policy, with the time to live in seconds.
    public init(ttl seconds: Double, maxSize: Int, strategy: CacheStrategy = .lru) {
        // Within what a duration can hold, and refused later where it is no time.
        let seconds = seconds.isNaN ? -1 : min(max(seconds, -1), 1e12)
        self.init(timeToLive: .seconds(seconds), maxEntries: maxSize, strategy: strategy)
    }

    /// How long after it was read or stored an entity is kept: `timeToLive`.
    public var ttl: Duration {
        get { timeToLive }
        set { timeToLive = newValue }
    }

    /// How many entities at most: `maxEntries`.
    public var maxSize: Int? {
        get { maxEntries }
        set { maxEntries = newValue }
    }
}
