import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

/// Asks the queue when it hears of its commit.
private final class AskingOwner: CommitOwner {
    let arrival = Outcome.Signal()
    private let store: Store

    init(_ store: Store) { self.store = store }

    func ended(_ commit: Commit, _ events: inout [Event]) {
        _ = store.queue.inFlight
        arrival.give()
    }
}

@Suite("A commit that is withdrawn", .timeLimit(.minutes(1)))
struct WithdrawalTests {
    private let storage = HookedStorage()

    /// Whoever hears of it may let others go on, who come with commits of their own.
    @Test(arguments: [true, false]) func `tells its owner under no lock`(isCancelled: Bool) throws {
        let store = try Store(url: "memory:", storage: storage, options: StoreOptions())
        let things = try store.repository("things")
        func submit(_ id: String, timeout: UInt64) throws -> (Transaction, AskingOwner) {
            var options = TransactionOptions()
            options.timeoutMilliseconds = timeout
            let transaction = try store.begin(options)
            _ = try "{\"id\":\"\(id)\"}".withBytes { try things.perform(WriteCall(.save, nil, $0), in: transaction) }
            let owner = AskingOwner(store)
            try transaction.submit(owner)
            return (transaction, owner)
        }
        storage.hold(.apply)
        let (_, first) = try submit("a", timeout: 0)
        storage.waitUntilHolding()
        let (transaction, second) = try submit("b", timeout: isCancelled ? 0 : 10)
        if isCancelled { try transaction.cancel() }
        #expect(second.arrival.comes())
        storage.letGo()
        #expect(first.arrival.comes())
        #expect(try store.close(timeoutMilliseconds: nil))
    }
}
