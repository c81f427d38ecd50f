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

    var count: Int { claims.count }
    var isEmpty: Bool { claims.isEmpty }

    /// Answers the number by which it can leave.
    mutating func append(_ claim: SlotClaim) -> UInt64 {
        last += 1
        claims[last] = claim
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
        let late = claims.filter { $0.value.deadline <= now }.keys.sorted()
        return late.compactMap { claims.removeValue(forKey: $0) }
    }

    /// `.max` where nobody waits.
    var nextDeadline: UInt64 { claims.values.lazy.map(\.deadline).min() ?? .max }
}
