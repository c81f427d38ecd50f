internal import Foundation
internal import HistoryChecker
public import HoldfastCore
public import HoldfastEnvironment
internal import SeededRandom

/// A thread that runs transactions, one in each step.
public final class StressClient: @unchecked Sendable {
    // Confined to its thread.
    private let number: Int
    private let bench: StressBench
    private let isolation: Isolation
    private var remaining: Int
    private var random: SeededGenerator
    /// Whether the storage may fail.
    private let expectsFailures: Bool

    public init(
        number: Int, bench: StressBench, transactions: Int, isolation: Isolation = .serializable,
        expectsFailures: Bool = false
    ) {
        self.number = number
        self.bench = bench
        self.isolation = isolation
        self.expectsFailures = expectsFailures
        remaining = transactions
        random = SeededGenerator(seed: UInt64(number))
    }

    public func step() -> NextStep {
        if remaining == 0 { return .finished }
        remaining -= 1
        var record = TransactionRecord(
            process: number, began: bench.tick(), ended: 0, operations: [], outcome: .committed)
        do throws(HoldfastError) {
            try run(&record.operations)
        } catch {
            switch error.status {
            case .conflict, .busy, .timeout: record.outcome = .aborted
            case .hostError where expectsFailures, .io where expectsFailures, .cannotOpen where expectsFailures:
                record.outcome = .aborted
            default: bench.report("\(error)")
            }
            if error.commitState == .unknown { record.outcome = .unknown }
            // Else most transactions would be those that failed while the storage was gone.
            if expectsFailures, error.status != .conflict { usleep(20_000) }
        }
        record.ended = bench.tick()
        bench.note(record)
        bench.checkInvariants()
        return .again
    }

    private func run(_ operations: inout [TransactionRecord.Operation]) throws(HoldfastError) {
        var options = TransactionOptions()
        options.isolation = isolation
        // A server that fails may have lost what is not durable.
        options.isDurable = Int.random(in: 0..<4, using: &random) == 0 || expectsFailures
        if Int.random(in: 0..<5, using: &random) == 0 {
            // Without a transaction: the newest committed state.
            let key = listName()
            operations.append(.read(key, try bench.lists.numbers(of: key, in: nil)))
            return try audit(in: nil)
        }
        let transaction = try bench.store.begin(options)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try audit(in: transaction)
        case 1: try transfer(in: transaction)
        default:
            for _ in 0..<Int.random(in: 1...4, using: &random) { try useList(&operations, in: transaction) }
        }
        if Bool.random(using: &random) {
            _ = try transaction.commit()
        } else {
            let outcome = AwaitedOutcome()
            try transaction.submit(outcome)
            _ = try outcome.wait().get()
        }
    }

    /// Lists go out of use, so that they stay short.
    private func listName() -> String { "list\(remaining / 20)-\(Int.random(in: 0..<4, using: &random))" }

    private func useList(
        _ operations: inout [TransactionRecord.Operation], in transaction: Transaction
    ) throws(HoldfastError) {
        let key = listName()
        let list = try bench.lists.numbers(of: key, in: transaction)
        operations.append(.read(key, list))
        guard Bool.random(using: &random) else { return }
        let value = bench.newValue()
        operations.append(.append(key, value))
        try bench.lists.save(key, numbers: list + [value], in: transaction)
    }

    private func transfer(in transaction: Transaction) throws(HoldfastError) {
        let from = Int.random(in: 0..<StressBench.accounts, using: &random)
        let to = (from + 1) % StressBench.accounts
        for (account, amount) in [(from, -7), (to, 7)] {
            let balance = try bench.accounts.numbers(of: "account\(account)", in: transaction)[0]
            try bench.accounts.save("account\(account)", numbers: [balance + amount], in: transaction)
        }
    }

    private func audit(in transaction: Transaction?) throws(HoldfastError) {
        let balances = try bench.accounts.allNumbers(in: transaction).map { $0[0] }
        if balances.count != StressBench.accounts || balances.reduce(0, +) != StressBench.accounts * 100 {
            bench.report("the accounts hold \(balances)")
        }
    }
}

/// An asynchronous commit's outcome, waited for.
private final class AwaitedOutcome: CommitObserver {
    private let outcome = Lock<CommitOutcome?>(nil)
    private let arrival = Gate()

    func committed(_ outcome: CommitOutcome) {
        self.outcome.withLock { $0 = outcome }
        arrival.advance()
    }

    func wait() -> CommitOutcome {
        while true {
            let seen = arrival.number
            if let outcome = outcome.withLock({ $0 }) { return outcome }
            arrival.wait(while: seen)
        }
    }
}
