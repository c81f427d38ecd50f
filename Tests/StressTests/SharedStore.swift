import DrawnLimits
import Foundation
import HistoryChecker
import HoldfastCore
import HoldfastEngines
import HoldfastEnvironment
import SeededRandom
import StressLoad
import Testing

/// Several processes of several threads on one store, whose work is recorded as one history.
enum SharedStore {
    static let processes = 4
    static let threads = 3
    static let transactions = StressTests.transactions

    /// `disturb`: runs while they work, and is asked to end when the last has ended; then the storage may fail.
    static func history(
        at url: String, _ isolation: String, seed: UInt64, disturb: (@Sendable (Interrupt.Flag) -> Void)? = nil
    ) throws -> [TransactionRecord] {
        let store = try StoreURL.open(url, options: StoreOptions())
        try StressBench(store: store, process: processes).openAccounts()
        #expect(try store.close(timeoutMilliseconds: nil))

        var random = SeededGenerator(seed: seed)
        let running = try (0..<processes).map {
            try Running(
                url, process: $0, isolation, Limits.drawn(using: &random, shortest: 1_000_000),
                expectsFailures: disturb != nil)
        }
        for process in running { try process.waitUntilOpen() }
        for process in running { process.start() }
        let isOver = Interrupt.Flag()
        let disturbing = try disturb.map { disturb in
            try ThreadWorkers().start(name: "disturbing") {
                disturb(isOver)
                return .finished
            }
        }
        var history: [TransactionRecord] = []
        for process in running { history += try process.history() }
        isOver.set()
        _ = disturbing?.waitUntilFinished(deadline: nil)
        #expect(history.count == processes * threads * transactions)
        return history
    }

    private struct Running {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()

        init(
            _ url: String, process number: Int, _ isolation: String, _ limits: Limits, expectsFailures: Bool
        ) throws {
            // Beside the tests' own program.
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                .deletingLastPathComponent().appendingPathComponent("StressProcess")
            process.arguments =
                [url, "\(number)", "\(threads)", "\(transactions)", isolation, limits.description]
                + (expectsFailures ? ["failures"] : [])
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
}
