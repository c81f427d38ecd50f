import DrawnLimits
import Foundation
import HistoryChecker
import HoldfastCore
import HoldfastEngines
import SeededRandom
import StressLoad
import Testing

/// Several processes of several threads on one store, recorded and judged as one history.
struct ProcessTests {
    private static let processes = 4
    private static let threads = 3
    private static let transactions = StressTests.transactions

    @Test func `processes that share a store behave as if one transaction ran after the other`() throws {
        #expect(
            HistoryChecker.anomalies(in: try Self.history("serializable")).map(\.description) == [],
            "HOLDFAST_STRESS_SEED=\(StressTests.seed) draws the same limits")
    }

    /// Else the silence above would mean nothing.
    @Test func `with snapshot isolation the checker finds what it lets through`() throws {
        #expect(!HistoryChecker.anomalies(in: try Self.history("snapshot")).isEmpty)
    }

    private static func history(_ isolation: String) throws -> [TransactionRecord] {
        let directory = TemporaryDirectory()
        let url = directory.path + "/store.db"
        let store = try StoreURL.open(url, options: StoreOptions())
        try StressBench(store: store, process: Self.processes).openAccounts()
        #expect(try store.close(timeoutMilliseconds: nil))

        // Late enough for all to have the store open by then.
        let start = SystemTime().monotonicNanoseconds() + 1_000_000_000
        var random = SeededGenerator(seed: StressTests.seed)
        let running = try (0..<Self.processes).map {
            try Self.run(url, process: $0, start: start, isolation, Limits.drawn(using: &random, shortest: 1_000_000))
        }
        var history: [TransactionRecord] = []
        for (process, output) in running {
            history += try JSONDecoder().decode([TransactionRecord].self, from: output.readDataToEndOfFile())
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
        }
        #expect(history.count == Self.processes * Self.threads * Self.transactions)
        #expect(history.count { $0.outcome == .committed } > history.count / 8)
        #expect(history.count { $0.outcome == .unknown } == 0)
        #expect(Self.switches(in: history) > Self.transactions, "the processes ran one after the other")
        return history
    }

    private static func run(
        _ url: String, process number: Int, start: UInt64, _ isolation: String, _ limits: Limits
    ) throws -> (Process, FileHandle) {
        let process = Process()
        let output = Pipe()
        // Beside the tests' own program.
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("StressProcess")
        process.arguments = [
            url, "\(number)", "\(threads)", "\(transactions)", "\(start)", isolation, limits.description,
        ]
        process.standardOutput = output
        try process.run()
        return (process, output.fileHandleForReading)
    }

    /// How often the process changes from one commit to the next.
    private static func switches(in history: [TransactionRecord]) -> Int {
        let order = history.filter { $0.outcome == .committed }.sorted { $0.ended < $1.ended }
        return zip(order, order.dropFirst()).count { $0.process / threads != $1.process / threads }
    }
}
