@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

/// A store whose asynchronous commits are carried when the test says so, on its own thread.
struct Bench {
    let storage: HookedStorage
    let time = CountedTime()
    let store: Store
    let things: Repository

    init(_ limits: Limits, _ options: StoreOptions = StoreOptions(), isRemote: Bool = false) throws {
        storage = HookedStorage(isRemote: isRemote)
        store = try Store(
            url: "memory:", storage: storage, options: options,
            environment: Environment(time: time, random: SystemRandom(), workers: IdleWorkers(), limits: limits))
        things = try store.repository("things")
    }

    func save(_ text: String, in transaction: Transaction? = nil) throws {
        _ = try text.withBytes { try things.perform(WriteCall(.save, nil, $0), in: transaction) }
    }

    func read(_ id: String, in transaction: Transaction) throws {
        _ = try things.fetch(EntityID(unchecked: Array(id.utf8)), in: transaction) { _, _ in }
    }

    func find(_ filter: String, in transaction: Transaction) throws {
        let filter = try filter.withBytes { try Filter.parse($0) }
        _ = try things.find(filter, in: transaction)
    }

    /// So many commits of one entity each that nobody else has.
    func changeOthers(_ count: Int, in repository: Repository? = nil) throws {
        for number in 0..<count {
            _ = try "{\"id\":\"other\(number)\",\"n\":-1}".withBytes {
                try (repository ?? things).perform(WriteCall(.save, nil, $0))
            }
        }
    }

    /// Submits an entity, in a transaction that has looked for it before, if so.
    func submit(_ text: String, isDurable: Bool? = nil, afterReading id: String? = nil) throws -> Outcome {
        var options = TransactionOptions()
        options.isDurable = isDurable
        let transaction = try store.begin(options)
        if let id { try read(id, in: transaction) }
        try save(text, in: transaction)
        return try submit(transaction)
    }

    func submit(_ transaction: Transaction) throws -> Outcome {
        let outcome = Outcome()
        try transaction.submit(outcome)
        return outcome
    }
}

/// What became of a submitted commit, as soon as it is known.
final class Outcome: CommitOwner {
    /// Something that one thread tells others once.
    final class Signal: Sendable {
        private let isGiven = Lock(false)
        private let gate = Gate()

        func give() {
            isGiven.withLock { $0 = true }
            gate.advance()
        }

        /// Waits at most so long, usually longer than any machine is busy, and answers whether it has come by then.
        func comes(within nanoseconds: UInt64 = 600_000_000_000) -> Bool {
            let time = SystemTime()
            let deadline = time.monotonicNanoseconds() + nanoseconds
            while true {
                let seen = gate.number
                let now = time.monotonicNanoseconds()
                let isHere = isGiven.withLock { $0 }
                if isHere || now >= deadline { return isHere }
                gate.wait(while: seen, nanoseconds: deadline - now)
            }
        }
    }

    private let outcome = Lock<CommitOutcome?>(nil)
    private let arrival = Signal()

    func ended(_ commit: Commit, _ events: inout [Event]) {
        let result = commit.outcome
        outcome.withLock { $0 = result }
        arrival.give()
    }

    var isKnown: Bool { outcome.withLock { $0 } != nil }

    /// Nil for a success, and where nothing is known.
    var status: Status? {
        if case .failure(let error)? = outcome.withLock({ $0 }) { error.status } else { nil }
    }

    /// Nil for a failure, and where nothing is known.
    var receipt: Receipt? { try? outcome.withLock { $0 }?.get() }

    func wait() { while !arrival.comes() {} }

    /// Waits until it is known, or a millisecond.
    func waitAMoment() { _ = arrival.comes(within: 1_000_000) }
}

/// Workers that never run.
struct IdleWorkers: Workers {
    private struct Idle: Worker {
        func wake() {}
        var isCurrent: Bool { false }
        func waitUntilFinished(deadline: UInt64?) -> Bool { true }
    }

    func start(name: String, step: @escaping @Sendable () -> NextStep) throws(HoldfastError) -> any Worker { Idle() }
}

/// Time of which a microsecond passes whenever somebody asks for it.
final class CountedTime: TimeSource {
    private let nanoseconds = Lock<UInt64>(1_000_000_000)

    func monotonicNanoseconds() -> UInt64 {
        nanoseconds.withLock { nanoseconds in
            nanoseconds += 1_000
            return nanoseconds
        }
    }

    func pass(milliseconds: UInt64) { nanoseconds.withLock { $0 += milliseconds * 1_000_000 } }

    func wallMilliseconds() -> UInt64 { 1_750_000_000_000 }
}
