internal import HoldfastEnvironment

/// A task that waits for a slot, without a thread.
struct SlotClaim {
    let deadline: UInt64
    /// Called once, under no lock: with nil when it has a slot, else with why it gets none.
    let call: @Sendable (HoldfastError?) -> Void
}

/// The tasks that wait for a slot, in the order in which they came. There may be many, and each of them may give up: to join,
/// to leave and to be served costs the same however many wait.
struct SlotLine {
    private var claims: [UInt64: SlotClaim] = [:]
    /// Nobody with a smaller number is in line.
    private var first: UInt64 = 1
    private var last: UInt64 = 0
    /// No deadline is earlier; `.max` where nobody has waited since they were looked at.
    private(set) var nextDeadline = UInt64.max

    var count: Int { claims.count }
    var isEmpty: Bool { claims.isEmpty }

    /// Answers the number by which it can leave.
    mutating func append(_ claim: SlotClaim) -> UInt64 {
        last += 1
        claims[last] = claim
        nextDeadline = min(nextDeadline, claim.deadline)
        return last
    }

    mutating func remove(_ number: UInt64) -> SlotClaim? { claims.removeValue(forKey: number) }

    mutating func removeFirst(_ most: Int) -> [SlotClaim] {
        var served: [SlotClaim] = []
        while served.count < most && !claims.isEmpty {
            if let claim = claims.removeValue(forKey: first) { served.append(claim) }
            first += 1
        }
        return served
    }

    mutating func removeLate(_ now: UInt64) -> [SlotClaim] {
        if nextDeadline > now { return [] }
        let late = claims.filter { $0.value.deadline <= now }.keys.sorted()
        defer { nextDeadline = claims.values.lazy.map(\.deadline).min() ?? .max }
        return late.compactMap { claims.removeValue(forKey: $0) }
    }
}
