import HistoryChecker
import Testing

/// Several processes of several threads on one store, recorded and checked as one history.
struct ProcessTests {
    private static let threads = SharedStore.threads
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
        let history = try SharedStore.history(at: directory.path + "/store.db", isolation, seed: seed(round))
        #expect(history.count { $0.outcome == .unknown } == 0)
        return history
    }

    /// How often the process changes from one commit to the next.
    private static func switches(in history: [TransactionRecord]) -> Int {
        let order = history.filter { $0.outcome == .committed }.sorted { $0.ended < $1.ended }
        return zip(order, order.dropFirst()).count { $0.process / threads != $1.process / threads }
    }
}
