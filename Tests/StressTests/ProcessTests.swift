import DrawnLimits
import Foundation
import HistoryChecker
import HoldfastCore
import HoldfastEngines
import HoldfastEnvironment
import SeededRandom
import StressLoad
import Testing

/// Several processes of several threads on one store, recorded and checked as one history.
struct ProcessTests {
    private static let processes = 4
    private static let threads = 3
    private static let transactions = StressTests.transactions

    /// How often at most, where one process ran while the others waited, as they do on a busy machine.
    private static let rounds = 20

    @Test func `processes that share a store behave as if one transaction ran after the other`() throws {
        var isMixed = false
        for round in 0..<Self.rounds where !isMixed {
            let history = try Self.history("serializable", round)
            #expect(
                HistoryChecker.anomalies(in: history).map(\.description) == [],
                "HOLDFAST_STRESS_SEED=\(Self.seed(round)) draws the same limits")
            isMixed =
                history.count { $0.outcome == .committed } > history.count / 8
                && Self.switches(in: history) > Self.transactions
        }
        #expect(isMixed, "the processes ran one after the other")
    }

    /// Else the silence above would mean nothing.
    @Test func `with snapshot isolation the checker finds what it lets through`() throws {
        var isFound = false
        for round in 0..<Self.rounds where !isFound {
            isFound = !HistoryChecker.anomalies(in: try Self.history("snapshot", round)).isEmpty
        }
        #expect(isFound)
    }

    private static func seed(_ round: Int) -> UInt64 { StressTests.seed &+ UInt64(round) }

    private static func history(_ isolation: String, _ round: Int) throws -> [TransactionRecord] {
        let directory = TemporaryDirectory()
        let url = directory.path + "/store.db"
        let store = try StoreURL.open(url, options: StoreOptions())
        try StressBench(store: store, process: Self.processes).openAccounts()
        #expect(try store.close(timeoutMilliseconds: nil))

        var random = SeededGenerator(seed: seed(round))
        let running = try (0..<Self.processes).map {
            try Running(url, process: $0, isolation, Limits.drawn(using: &random, shortest: 1_000_000))
        }
        for process in running { try process.waitUntilOpen() }
        for process in running { process.start() }
        var history: [TransactionRecord] = []
        for process in running { history += try process.history() }
        #expect(history.count == Self.processes * Self.threads * Self.transactions)
        #expect(history.count { $0.outcome == .unknown } == 0)
        return history
    }

    private struct Running {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()

        init(_ url: String, process number: Int, _ isolation: String, _ limits: Limits) throws {
            // Beside the tests' own program.
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                .deletingLastPathComponent().appendingPathComponent("StressProcess")
            process.arguments = [
                url, "\(number)", "\(threads)", "\(transactions)", isolation, limits.description,
            ]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
        }

        func waitUntilOpen() throws { try #require(output.fileHandleForReading.readData(ofLength: 1).count == 1) }

        func start() { input.fileHandleForWriting.write(Data([10])) }

        func history() throws -> [TransactionRecord] {
            let text = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            return try JSONDecoder().decode([TransactionRecord].self, from: text)
        }
    }

    /// How often the process changes from one commit to the next.
    private static func switches(in history: [TransactionRecord]) -> Int {
        let order = history.filter { $0.outcome == .committed }.sorted { $0.ended < $1.ended }
        return zip(order, order.dropFirst()).count { $0.process / threads != $1.process / threads }
    }
}
