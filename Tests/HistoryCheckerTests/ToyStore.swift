import HistoryChecker
import SeededRandom

/// Lists under keys, and clients that take turns by chance; as good or bad as its isolation says.
final class ToyStore {
    enum Isolation {
        case serializable
        /// Checks only that nobody else appended to the same lists.
        case snapshot
        /// Checks nothing.
        case unvalidated
        /// Reads the newest committed state with each statement.
        case readCommitted
        /// Shows every append at once.
        case readUncommitted
        /// Serializable, but a transaction that only reads may see an old state.
        case stale
    }

    private struct Client {
        var record: TransactionRecord?
        var snapshot: [String: [Int]] = [:]
        var appends: [(key: String, value: Int)] = []
        var isReader = false
        var remaining = 0
    }

    private let isolation: Isolation
    private var random: SeededGenerator
    private var committed: [String: [Int]] = [:]
    private var past: [[String: [Int]]] = [[:]]
    private var clients = Array(repeating: Client(), count: 5)
    private var clock = 0
    private var values = 0
    private var history: [TransactionRecord] = []

    init(_ isolation: Isolation, seed: UInt64) {
        self.isolation = isolation
        random = SeededGenerator(seed: seed)
    }

    func run(transactions: Int) -> [TransactionRecord] {
        while history.count < transactions {
            clock += 1
            let index = Int.random(in: 0..<clients.count, using: &random)
            var client = clients[index]
            if client.record == nil {
                client = begin(process: index)
            } else if client.remaining > 0 {
                step(&client)
            } else {
                end(&client)
            }
            clients[index] = client
        }
        return history
    }

    private func begin(process: Int) -> Client {
        let isReader = Bool.random(using: &random)
        let old = isolation == .stale && isReader ? past.dropLast(20).last : nil
        return Client(
            record: TransactionRecord(process: process, began: clock, ended: .max, operations: [], outcome: .unknown),
            snapshot: old ?? committed, isReader: isReader, remaining: Int.random(in: 1...4, using: &random))
    }

    /// Old keys go out of use, so that lists stay short.
    private func randomKey() -> String { "k\(history.count / 50 * 4 + Int.random(in: 0..<4, using: &random))" }

    private func step(_ client: inout Client) {
        client.remaining -= 1
        let key = randomKey()
        if client.isReader || Bool.random(using: &random) {
            let own = client.appends.filter { $0.key == key }.map(\.value)
            let list =
                switch isolation {
                case .readUncommitted: committed[key] ?? []
                case .readCommitted: (committed[key] ?? []) + own
                default: (client.snapshot[key] ?? []) + own
                }
            client.record!.operations.append(.read(key, list))
        } else {
            values += 1
            client.record!.operations.append(.append(key, values))
            client.appends.append((key, values))
            if isolation == .readUncommitted { committed[key, default: []].append(values) }
        }
    }

    private func end(_ client: inout Client) {
        var record = client.record!
        client.record = nil
        record.ended = clock
        record.outcome = Int.random(in: 0..<10, using: &random) > 0 && isValid(client, record) ? .committed : .aborted
        if record.outcome == .committed && isolation != .readUncommitted {
            for (key, value) in client.appends { committed[key, default: []].append(value) }
            if isolation == .stale { past.append(committed) }
        }
        // The client is not always told.
        if isolation != .readUncommitted && Int.random(in: 0..<10, using: &random) == 0 { record.outcome = .unknown }
        history.append(record)
    }

    private func isValid(_ client: Client, _ record: TransactionRecord) -> Bool {
        func isUnchanged(_ key: String) -> Bool { committed[key] == client.snapshot[key] }
        switch isolation {
        case .serializable, .stale:
            let reads = record.operations.compactMap { if case .read(let key, _) = $0 { key } else { nil } }
            return client.appends.isEmpty || reads.allSatisfy(isUnchanged)
        case .snapshot: return client.appends.allSatisfy { isUnchanged($0.key) }
        case .unvalidated, .readCommitted, .readUncommitted: return true
        }
    }
}
