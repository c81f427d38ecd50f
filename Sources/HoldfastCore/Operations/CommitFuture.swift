public import HoldfastEnvironment

extension Transaction {
    /// As `submit`, with a future of the receipt, which `accept` is handed before anything is submitted.
    public func submit(accept: (Future) throws(HoldfastError) -> Void) throws(HoldfastError) {
        let owner = SubmittedCommit(self)
        do throws(HoldfastError) {
            try accept(owner.future)
            try submit(owner)
        } catch {
            // Otherwise it and the transaction would hold each other for ever.
            owner.future.complete(.failure(error))
            throw error
        }
    }
}

/// Completes a future with what becomes of a commit. Does not refer to the transaction, which holds the commit, which
/// holds this.
private final class SubmittedCommit: CommitOwner {
    let future: Future
    private let queue: CommitQueue

    init(_ transaction: Transaction) {
        queue = transaction.store.queue
        future = Future(delivery: transaction.store.delivery, time: transaction.store.environment.time)
        future.setSource(Withdrawal(of: transaction))
    }

    func ended(_ commit: Commit, _ events: inout [Event]) {
        let outcome = commit.outcome!.map { FutureValue(bytes: [], receipt: $0) }
        let completions = future.end(with: outcome, holdingSlot: true) ?? []
        if completions.isEmpty { queue.delivered(1) }
        events += completions.map(Event.completion)
    }
}

/// Until the future ends, which lets go of it.
private final class Withdrawal: Withdrawable {
    private let transaction: Transaction

    init(of transaction: Transaction) { self.transaction = transaction }

    func withdraw() -> Bool { (try? transaction.cancel()) != nil }
}
