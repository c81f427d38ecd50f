extension Transaction {
    /// As `submit`, with a future of the receipt, which `accept` is handed before anything is submitted.
    public func submit(accept: (Future) throws(HoldfastError) -> Void) throws(HoldfastError) {
        let owner = SubmittedCommit(self)
        do throws(HoldfastError) {
            try accept(owner.future)
            try submit(owner)
        } catch {
            // Otherwise it and its owner would hold each other for ever.
            owner.future.complete(.failure(error))
            throw error
        }
    }
}

/// Completes a future with what becomes of a commit.
private final class SubmittedCommit: CommitOwner, Withdrawable {
    let future: Future
    private let transaction: Transaction

    init(_ transaction: Transaction) {
        self.transaction = transaction
        future = Future(delivery: transaction.store.delivery, time: transaction.store.environment.time)
        future.setSource(self)
    }

    func ended(_ commit: Commit, _ events: inout [Event]) {
        let outcome = commit.outcome!.map { FutureValue(bytes: [], receipt: $0) }
        let completions = future.end(with: outcome, holdingPlace: true) ?? []
        if completions.isEmpty { transaction.store.queue.delivered(1) }
        events += completions.map(Event.completion)
    }

    func withdraw() -> Bool { (try? transaction.cancel()) != nil }
}
