public import HistoryChecker
public import HoldfastCore
public import HoldfastEnvironment
import HoldfastQuery
internal import Synchronization

/// What the clients of one process share: the store, the clock of the history, and the history.
public final class StressBench: Sendable {
    private struct State {
        var history: [TransactionRecord] = []
        var faults: [String] = []
    }

    static let accounts = 4

    let store: Store
    let lists: Repository
    let accounts: Repository
    private let values: Atomic<Int>
    private let state = Lock(State())

    /// `process`: of those that share the store, from 0.
    public init(store: Store, process: Int) throws(HoldfastError) {
        self.store = store
        values = Atomic(process << 32)
        // Under a policy so narrow that entries come and go all the time.
        var narrow = RepositoryOptions()
        narrow.cache = CachePolicy(
            strategy: process.isMultiple(of: 2) ? .lru : .fifo, timeToLiveMilliseconds: 1, maxEntries: 3)
        lists = try store.repository("lists", options: narrow)
        accounts = try store.repository("accounts")
    }

    /// Fills the accounts. Once, before any client runs.
    public func openAccounts() throws(HoldfastError) {
        for number in 0..<Self.accounts { try accounts.save("account\(number)", numbers: [100], in: nil) }
    }

    /// The time of all processes. A transaction that ended before another began has no greater one.
    func tick() -> Int { Int(SystemTime().monotonicNanoseconds()) }

    /// A number that no other client of any process appends.
    func newValue() -> Int { values.add(1, ordering: .relaxed).newValue }

    public var history: [TransactionRecord] { state.withLock { $0.history } }
    public var faults: [String] { state.withLock { $0.faults } }

    func note(_ record: TransactionRecord) { state.withLock { $0.history.append(record) } }
    func report(_ fault: String) { state.withLock { $0.faults.append(fault) } }

    /// What the store's parts state of themselves holds at every moment, whoever works beside.
    public func checkInvariants() { if let fault = store.violatedInvariant() { report(fault) } }
}

/// Entities that hold a list of numbers.
extension Repository {
    func numbers(of id: String, in transaction: Transaction?) throws(HoldfastError) -> [Int] {
        var text: [UInt8] = []
        _ = try fetch(EntityID(unchecked: Array(id.utf8)), in: transaction) { text = Array($1) }
        return Self.numbers(in: text[...])
    }

    func allNumbers(in transaction: Transaction?) throws(HoldfastError) -> [[Int]] {
        let list = try find(in: transaction)
        return try list.items.map { item throws(HoldfastError) in Self.numbers(in: try list.body(of: item)[...]) }
    }

    func save(_ id: String, numbers: [Int], in transaction: Transaction?) throws(HoldfastError) {
        let text = Array("{\"id\":\"\(id)\",\"numbers\":\(numbers)}".utf8)
        _ = try text.withBytes { bytes throws(HoldfastError) in
            try perform(WriteCall(.save, nil, bytes), in: transaction)
        }
    }

    private static func numbers(in text: ArraySlice<UInt8>) -> [Int] {
        let inner = text.drop { $0 != UInt8(ascii: "[") }.dropFirst().prefix { $0 != UInt8(ascii: "]") }
        return inner.split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
            .map { Int(String(decoding: $0, as: UTF8.self))! }
    }
}
