public import HoldfastEnvironment

extension Limits {
    /// Spans of time, after which threads look for something.
    private static var spans: Set<WritableKeyPath<Limits, Int>> {
        [
            \.batchTime, \.turnInterval, \.foreignLock, \.longestRetry, \.tendInterval, \.followerPoll,
            \.expiryInterval, \.firstBackoff, \.longestBackoff, \.closingPoll, \.queueNextPause, \.queuePause,
            \.queueLongPause, \.queueLongestPause, \.lockPoll, \.busyTimeout, \.closingDoor, \.doorPoll,
            \.keptReadIdle, \.checkpointIdle, \.checkpointPoll, \.checkpointRetry, \.checkpointShortRetry,
            \.checkpointLongRetry,
            \.idleThread, \.interruptInterval, \.interruptGrace,
        ]
    }

    /// Bytes that are read at once: at 1, each takes a call into the system.
    private static var reads: Set<WritableKeyPath<Limits, Int>> { [\.rewriteBytes, \.importBytes, \.linePiece] }
    private static let shortestRead = 256

    /// Some as they are, some at 1, some in between, the smaller the likelier. `shortest`: of the spans of time, which
    /// real threads would otherwise spend looking all the time. Those beyond which calls are refused stay as they are.
    public static func drawn(
        using random: inout some RandomNumberGenerator, shortest: Int = 1
    ) -> Limits {
        var limits = Limits()
        // Every fourth time what is shipped.
        if Int.random(in: 0..<4, using: &random) == 0 { return limits }
        for (_, path) in all where !refusing.contains(path) {
            let usual = limits[keyPath: path]
            switch Int.random(in: 0..<6, using: &random) {
            case 0..<3: break
            case 3: limits[keyPath: path] = 1
            case 4: limits[keyPath: path] = min(usual, Int.random(in: 1...5, using: &random))
            default:
                let magnitude = Int.random(in: 0...(Int.bitWidth - usual.leadingZeroBitCount - 1), using: &random)
                limits[keyPath: path] = Int.random(in: 1...(1 << magnitude), using: &random)
            }
            if reads.contains(path) { limits[keyPath: path] = max(limits[keyPath: path], shortestRead) }
            if spans.contains(path) { limits[keyPath: path] = max(limits[keyPath: path], min(shortest, usual)) }
        }
        return limits
    }
}
