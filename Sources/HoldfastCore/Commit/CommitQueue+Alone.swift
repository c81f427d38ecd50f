package import HoldfastEnvironment
internal import HoldfastStorage

/// What is done while nobody commits.
extension CommitQueue {
    /// Makes everything committed before this call durable.
    func sync() throws(HoldfastError) {
        try alone { committer throws(HoldfastError) in try committer.sync() }
    }

    /// The same by the committer, while this thread waits and is asked. It is of no use to end it once it was begun.
    func syncElsewhere() throws(HoldfastError) {
        let sync = WaitingSync()
        let nobodyLeads = try state.withLock { state throws(HoldfastError) in
            if state.isClosing { throw HoldfastError.storeClosed }
            state.syncs.append(sync)
            return !state.isLed
        }
        if nobodyLeads { wakeCommitter() }
        do throws(HoldfastError) {
            while true {
                let seen = sync.end.number
                if let outcome = sync.outcome { return try outcome.get() }
                try sync.end.waitAsking(while: seen)
            }
        } catch {
            // It may have ended while this thread was asked. In a forked child the queue is the parent's.
            if error.status == .cancelled {
                state.withLock { state in state.syncs.removeAll { $0 === sync } }
                if let outcome = sync.outcome { return try outcome.get() }
            }
            throw error
        }
    }

    /// For the committer, which leads.
    func sync(for waiting: [WaitingSync]) {
        if waiting.isEmpty { return }
        let outcome = Result { () throws(HoldfastError) in try committer.value.sync() }
        for sync in waiting { sync.finish(outcome) }
    }

    /// Finds out what a server has left open. For the committer, which leads.
    func settle() {
        let ended = committer.value.settle()
        if ended.isEmpty { return }
        post(ended)
        batches.advance(waking: ended.reduce(0) { $0 | $1.batchBit })
        for note in committer.value.takeNotes() { diagnostics.write(note) }
    }

    /// Has the committer go on with what a storage has that has lost commits. Waits for nobody.
    func historyWasLost() {
        let nobodyLeads = state.withLock { state in
            state.historyIsLost = !state.isClosing
            return !state.isLed
        }
        if nobodyLeads { wakeCommitter() }
    }

    /// For the committer, which leads. Where it fails, it is tried again after a while, and when somebody asks the storage.
    func beginHistory() {
        do throws(HoldfastError) { try committer.value.beginLostHistory() } catch {
            diagnostics.warning("what a server has lost could not be told yet", [("reason", .text(error.message))])
        }
        for note in committer.value.takeNotes() { diagnostics.write(note) }
    }

    /// Compacts the storage while nobody commits.
    package func compact(unless end: Interrupt.Flag) throws(HoldfastError) -> (before: UInt64, after: UInt64) {
        try alone { committer throws(HoldfastError) in
            if end.isSet { throw Interrupt.cancelled }
            return try committer.compact(unless: end)
        }
    }

    /// Runs something as the leader, without a batch.
    private func alone<Result>(
        _ body: (BatchCommitter) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        while true {
            let seen = batches.number
            let leads = try state.withLock { state throws(HoldfastError) in
                if state.isClosing { throw HoldfastError.storeClosed }
                if state.isLed || state.isUnsettled { return false }
                state.isLed = true
                return true
            }
            if leads { break }
            try batches.waitAsking(while: seen, for: Self.loneLeader)
        }
        defer { stepDown([]) }
        return try body(committer.value)
    }
}

/// Whoever waits until the committer has synced.
final class WaitingSync: Sendable {
    let end = Gate()
    private let result = Lock<Result<Void, HoldfastError>?>(nil)

    /// Nil until it has ended.
    var outcome: Result<Void, HoldfastError>? { result.withLock { $0 } }

    func finish(_ outcome: Result<Void, HoldfastError>) {
        result.withLock { $0 = outcome }
        end.advance()
    }
}
