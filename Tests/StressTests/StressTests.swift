import DrawnLimits
import HistoryChecker
import HoldfastCore
import HoldfastEngines
import HoldfastEnvironment
import HoldfastServices
import SeededRandom
import StorageConformance
import StressLoad
import Testing

/// Real threads on a real store, recorded and checked. The thread sanitizer watches the same:
/// `swift test --sanitize=thread --filter StressTests`.
///
/// `HOLDFAST_STRESS` sets how many transactions each thread runs, and `HOLDFAST_STRESS_SEED` from what the limits are drawn.
struct StressTests {
    private static let threads = 6
    static let transactions = getenv("HOLDFAST_STRESS").flatMap { Int(String(cString: $0)) } ?? 150

    /// Another each time, unless it is given.
    static let seed =
        getenv("HOLDFAST_STRESS_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0..<1_000_000)

    enum Place: CaseIterable {
        case memory
        case file
        case provider
        case wholeProvider
        case failingProvider
        case failingWholeProvider

        var expectsFailures: Bool { self == .failingProvider || self == .failingWholeProvider }
    }

    /// Fails calls of a provider now and then, but none of those that take a commit back.
    private static func fail(_ provider: DictionaryProvider, seed: UInt64) {
        let state = Lock((random: SeededGenerator(seed: seed), writes: 0, lastFailure: 0))
        provider.fail { name, _ in
            state.withLock { state in
                if ["save", "delete", "apply"].contains(name) { state.writes += 1 }
                guard state.writes - state.lastFailure > 20, Int.random(in: 0..<30, using: &state.random) == 0 else {
                    return false
                }
                state.lastFailure = state.writes
                return true
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `threads that share a store behave as if one ran after the other`(place: Place) throws {
        // With some limits, or on a busy machine, most are refused.
        var isEnough = false
        for round in 0..<20 as Range<UInt64> where !isEnough {
            let history = try Self.history(place, seed: Self.seed &+ round)
            isEnough = history.count { $0.outcome == .committed } > history.count / 4
        }
        #expect(isEnough)
    }

    private static func history(_ place: Place, seed: UInt64) throws -> [TransactionRecord] {
        let directory = TemporaryDirectory()
        var options = StoreOptions()
        // Few, so that snapshots are taken back under their readers.
        options.maxSnapshots = 3
        options.maxInFlight = 4
        options.concurrentCalls = true
        var random = SeededGenerator(seed: seed)
        var environment = Environment.system
        environment.limits = Limits.drawn(using: &random, shortest: 1_000_000)
        let hasAll = place == .wholeProvider || place == .failingWholeProvider
        let provider = DictionaryProvider(hasAll ? [.apply, .changeToken, .sync] : [])
        let store =
            switch place {
            case .memory: try StoreURL.open("memory:", options: options, environment: environment)
            case .file: try StoreURL.open(directory.path + "/store.db", options: options, environment: environment)
            default: try Store.open(provider: provider, options: options, environment: environment)
            }
        let bench = try StressBench(store: store, process: 0)
        try bench.openAccounts()
        if place.expectsFailures { fail(provider, seed: seed) }

        var workers: [any Worker] = []
        for number in 0..<threads {
            let client = StressClient(
                number: number, bench: bench, transactions: transactions, expectsFailures: place.expectsFailures)
            workers.append(try ThreadWorkers().start(name: "client") { client.step() })
        }
        for worker in workers { _ = worker.waitUntilFinished(deadline: nil) }
        #expect(try store.close(timeoutMilliseconds: nil))

        let history = bench.history
        #expect(bench.faults == [])
        #expect(history.count == threads * transactions)
        #expect(history.count { $0.outcome == .unknown } == 0)
        #expect(
            HistoryChecker.anomalies(in: history).map(\.description) == [],
            "HOLDFAST_STRESS_SEED=\(seed) draws the limits \(environment.limits)")
        return history
    }
}
