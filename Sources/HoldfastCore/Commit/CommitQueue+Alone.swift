/// What is done while nobody commits.
extension CommitQueue {
    /// Makes everything committed before this call durable.
    func sync() throws(HoldfastError) {
        try alone { committer throws(HoldfastError) in try committer.sync() }
    }

    /// Compacts the storage while nobody commits.
    func compact(unless end: Interrupt.Flag) throws(HoldfastError) -> (before: UInt64, after: UInt64) {
        try alone { committer throws(HoldfastError) in
            if end.isSet { throw Interrupt.cancelled }
            return try committer.compact()
        }
    }

    /// Runs something as the leader, without a batch.
    private func alone<Result>(
        _ body: (BatchCommitter) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        while true {
            let seen = batches.number
            let leads = try state.withLock { state throws(HoldfastError) in
                if state.isClosing { throw Store.closed }
                if state.isLed { return false }
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
