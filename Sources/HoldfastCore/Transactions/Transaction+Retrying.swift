public import HoldfastEnvironment
internal import HoldfastStorage

/// Running again after a conflict.
extension Transaction {
    /// Begins the next attempt of this transaction, which met a conflict or was rolled back. `accept` is handed it with a
    /// future that completes when it is its turn: when no other that collided at the same place is running. The turn is over
    /// with the new transaction, or when that takes long.
    public func retry(
        _ options: TransactionOptions?, accept: (Transaction, Future) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try store.requireOutsideProvider()
        let (contention, former) = try state.withLock { state throws(HoldfastError) in
            try state.check(isManaged ? .retryFromBody : .retry)
            return (Self.contention(in: state), state.place.take())
        }
        let next = try store.begin(options ?? self.options)
        let turn = Future(delivery: store.delivery, time: store.environment.time)
        do throws(HoldfastError) {
            try accept(next, turn)
        } catch {
            if let former { store.retries.leave(former) }
            throw error
        }
        if let former {
            if former.contention == contention, store.retries.hasTurn(former) {
                next.state.withLock { $0.place = former }
                turn.complete(.success(FutureValue(bytes: [])))
                return
            }
            store.retries.leave(former)
        }
        guard let contention else {
            turn.complete(.success(FutureValue(bytes: [])))
            return
        }
        let place = store.retries.enter(contention) { isInTime in
            turn.complete(isInTime ? .success(FutureValue(bytes: [])) : .failure(HoldfastError.storeClosed))
        }
        next.state.withLock { $0.place = place }
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

    /// Lets the next have the turn.
    func leaveLine() {
        if let place = state.withLock({ $0.place.take() }) { store.retries.leave(place) }
    }
}
