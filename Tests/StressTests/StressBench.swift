import HistoryChecker
import HoldfastCore
import Synchronization

/// What the clients of a stress test share: the store, the clock of the history, and the history.
final class StressBench: Sendable {
    private struct State {
        var history: [TransactionRecord] = []
        var faults: [String] = []
    }

    static let accounts = 4

    let store: Store
    let lists: Repository
    let accounts: Repository
    private let clock = Atomic<Int>(0)
    private let state = Lock(State())

    init(store: Store) throws {
        self.store = store
        lists = try store.repository("lists")
        accounts = try store.repository("accounts")
        for number in 0..<Self.accounts { try accounts.save("account\(number)", numbers: [100], in: nil) }
    }

    /// Rises with every call. A transaction that ended before another began has the lower number.
    func tick() -> Int { clock.add(1, ordering: .sequentiallyConsistent).newValue }

    var history: [TransactionRecord] { state.withLock { $0.history } }
    var faults: [String] { state.withLock { $0.faults } }

    func note(_ record: TransactionRecord) { state.withLock { $0.history.append(record) } }
    func report(_ fault: String) { state.withLock { $0.faults.append(fault) } }
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
        return list.items.map { Self.numbers(in: list.json[$0.text]) }
    }

    func save(_ id: String, numbers: [Int], in transaction: Transaction?) throws(HoldfastError) {
        let text = Array("{\"id\":\"\(id)\",\"numbers\":\(numbers)}".utf8)
        _ = try text.withBytes { bytes throws(HoldfastError) in try save(bytes, in: transaction) }
    }

    private static func numbers(in text: ArraySlice<UInt8>) -> [Int] {
        let inner = text.drop { $0 != UInt8(ascii: "[") }.dropFirst().prefix { $0 != UInt8(ascii: "]") }
        return inner.split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
            .map { Int(String(decoding: $0, as: UTF8.self))! }
    }
}
