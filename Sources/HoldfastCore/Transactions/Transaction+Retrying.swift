public import HoldfastEnvironment
internal import HoldfastStorage

/// Running again after a conflict.
extension Transaction {
    /// Begins the next attempt of this transaction, which met a conflict or was rolled back. `accept` is handed it with
    /// a future that completes when the retry is granted: when no other that collided at the same entity or query is
    /// running. The grant ends with the new transaction, or when that takes long.
    public func retry(
        _ options: TransactionOptions?, accept: (Transaction, Future) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try store.requireOutsideProvider()
        var (contention, ticket) = try state.withLock { state throws(HoldfastError) in
            try state.check(isManaged ? .retryFromBody : .retry)
            return (Self.contention(in: state), state.ticket.take())
        }
        let next = try store.begin(options ?? self.options)
        let grant = Future(delivery: store.delivery, time: store.environment.time)
        do throws(HoldfastError) {
            try accept(next, grant)
        } catch {
            if let ticket { store.retries.leave(ticket) }
            throw error
        }
        // The host counts attempts and time itself, and begins at once where there is nobody to wait for.
        if case .inLine(let contention) = store.retries.next(
            after: 0, of: .max, at: contention, &ticket, until: .max)
        {
            let entered = RetryQueue.Ticket(contention) { isInTime in
                grant.complete(isInTime ? .success(FutureValue(bytes: [])) : .failure(HoldfastError.storeClosed))
            }
            next.hold(entered)
            store.retries.enter(entered)
        } else {
            if let ticket { next.hold(ticket) }
            grant.complete(.success(FutureValue(bytes: [])))
        }
    }

    /// Until it has ended, which the host, who has it by now, may have done meanwhile.
    private func hold(_ ticket: RetryQueue.Ticket) {
        let hasEnded = state.withLock { state in
            if !state.current.hasEnded { state.ticket = ticket }
            return state.current.hasEnded
        }
        if hasEnded { store.retries.leave(ticket) }
    }

    private static func contention(in state: State) -> Contention? {
        if let contention = state.contention { return contention }
        guard case .failure(let error)? = state.submitted?.outcome else { return nil }
        return error.contention
    }

    /// Where it collided, if it did.
    package var contention: Contention? { state.withLock { Self.contention(in: $0) } }

    /// What its commit failed with.
    func note(_ error: HoldfastError) {
        guard error.status == .conflict else { return leaveLine() }
        state.withLock { $0.contention = error.contention ?? $0.contention }
    }

    /// Grants the next.
    func leaveLine() {
        if let ticket = state.withLock({ $0.ticket.take() }) { store.retries.leave(ticket) }
    }
}
