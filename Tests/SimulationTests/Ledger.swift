import HistoryChecker

@testable import HoldfastCore
@testable import HoldfastQuery
@testable import HoldfastStorage

/// What clients were told, held against what is found.
struct Ledger {
    private struct Promise {
        var isDurable: Bool
        var writes: [EntityKey: [UInt8]?]
    }

    /// What was acknowledged, by sequence.
    private var promises: [CommitSequence: Promise] = [:]
    /// What each version of an entity was seen to be.
    private var versions: [EntityKey: [CommitSequence: [UInt8]]] = [:]
    private var newestDelivered: CommitSequence = 0
    private(set) var history: [TransactionRecord] = []
    private(set) var faults: [String] = []
    private(set) var committed = 0
    private(set) var aborted = 0
    private(set) var unknown = 0

    mutating func report(_ fault: String) { faults.append(fault) }

    mutating func note(_ record: TransactionRecord) {
        history.append(record)
        switch record.outcome {
        case .committed: committed += 1
        case .aborted: aborted += 1
        case .unknown: unknown += 1
        }
    }

    /// A version of an entity that somebody read.
    mutating func noteSeen(_ key: EntityKey, version: CommitSequence, body: [UInt8]) {
        if version == 0 { return }
        if let before = versions[key]?[version], before != body {
            report("\(key.id.text) has two texts in version \(version)")
        }
        versions[key, default: [:]][version] = body
    }

    /// A success that a client was told of. `isDelivered`: as an event, which come in the order of commits.
    mutating func noteSuccess(
        _ receipt: Receipt, writes: [EntityKey: [UInt8]?], wantsDurability: Bool, isDelivered: Bool
    ) {
        if receipt.isReplayed || receipt.sequence == 0 { return }
        if wantsDurability && !receipt.isDurable {
            report("commit \(receipt.sequence) is less durable than was asked for")
        }
        if promises[receipt.sequence] != nil { report("sequence \(receipt.sequence) was told twice") }
        let changed = Set(receipt.changes.map(\.id))
        if changed != Set(writes.keys.map(\.id)) { report("the receipt of \(receipt.sequence) tells other changes") }
        promises[receipt.sequence] = Promise(isDurable: receipt.isDurable, writes: writes)
        if isDelivered {
            if receipt.sequence < newestDelivered {
                report("commit \(receipt.sequence) was delivered after \(newestDelivered)")
            }
            newestDelivered = receipt.sequence
        }
    }

    /// Everything that was acknowledged before is durable from now on.
    mutating func noteSynced() {
        for sequence in promises.keys { promises[sequence]!.isDurable = true }
    }

    /// Compares what was promised with what a process finds that opens the store. Answers the sequences that were lost.
    @discardableResult
    mutating func compare(with state: MemoryState, afterPowerCut: Bool) -> Set<CommitSequence> {
        var lost: Set<CommitSequence> = []
        for (sequence, promise) in promises {
            if sequence < state.commitLogBegins { continue }
            guard let entry = state.commitLog[sequence] else {
                if promise.isDurable || !afterPowerCut {
                    report("commit \(sequence), acknowledged \(promise.isDurable ? "as durable" : ""), is lost")
                }
                lost.insert(sequence)
                continue
            }
            if Set(entry.changes.map(\.key)) != Set(promise.writes.keys) {
                report("the log of \(sequence) tells other changes than were acknowledged")
            }
            for (key, body) in promise.writes {
                let found = state.entities[key]
                if body == nil, found.map({ $0.version <= sequence }) == true {
                    report("\(key.id.text) is there, though commit \(sequence) deleted it")
                }
                if let found, found.version == sequence, found.body != body {
                    report("\(key.id.text) is not what commit \(sequence) wrote")
                }
                if body != nil && found.map({ $0.version < sequence }) == true {
                    report("\(key.id.text) is older than commit \(sequence)")
                }
            }
        }
        for sequence in lost { promises[sequence] = nil }
        return lost
    }

    /// Has the history checked and begins a new one.
    mutating func checkHistory() {
        for anomaly in HistoryChecker.anomalies(in: history) {
            report("\(anomaly)")
        }
        history = []
    }
}
