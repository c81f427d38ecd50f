import Glibc
import HistoryChecker
import HoldfastCore
import HoldfastEngines
import StressLoad
import Testing

/// Real threads on a real store, recorded and judged. The thread sanitizer watches the same:
/// `swift test --sanitize=thread --filter StressTests`.
///
/// `HOLDFAST_STRESS` sets how many transactions each thread runs.
struct StressTests {
    private static let threads = 6
    static let transactions = getenv("HOLDFAST_STRESS").flatMap { Int(String(cString: $0)) } ?? 150

    enum Place: CaseIterable {
        case memory
        case file
    }

    @Test(arguments: Place.allCases)
    func `threads that share a store behave as if one ran after the other`(place: Place) throws {
        let directory = TemporaryDirectory()
        var options = StoreOptions()
        // Few, so that snapshots are taken back under their readers.
        options.maxSnapshots = 3
        options.maxInFlight = 4
        let url = place == .memory ? "memory:" : directory.path + "/store.db"
        let store = try StoreURL.open(url, options: options)
        let bench = try StressBench(store: store, process: 0)
        try bench.openAccounts()

        var workers: [any Worker] = []
        for number in 0..<Self.threads {
            let client = StressClient(number: number, bench: bench, transactions: Self.transactions)
            workers.append(try ThreadWorkers().start(name: "client") { client.turn() })
        }
        for worker in workers { _ = worker.waitUntilFinished(deadline: nil) }
        #expect(try store.close(timeoutMilliseconds: nil))

        let history = bench.history
        #expect(bench.faults == [])
        #expect(history.count == Self.threads * Self.transactions)
        #expect(history.count { $0.outcome == .committed } > history.count / 4)
        #expect(history.count { $0.outcome == .unknown } == 0)
        #expect(HistoryChecker.anomalies(in: history).map(\.description) == [])
    }
}
