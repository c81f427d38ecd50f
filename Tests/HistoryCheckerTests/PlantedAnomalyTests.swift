import HistoryChecker
import Testing

/// Small histories with one thing wrong in each. Operations are written `x+1` (append 1 to x) and `x=1,2` (read x as
/// [1, 2]).
struct PlantedAnomalyTests {
    @Test(
        arguments: [
            // What a transaction or a read shows by itself.
            (["x=1 x=1,2"], ["x+1", "x+2"], ["internal"]),
            (["x+1 x="], [], ["internal"]),
            (["x=7"], [], ["garbage read"]),
            (["x=1,1"], ["x+1"], ["duplicate value"]),
            (["x=1,2", "x=2,1"], ["x+1", "x+2"], ["incompatible order"]),
            (["x=1"], ["x+1 x+2"], ["G1b", "G-single"]),
            // Cycles.
            (["x=1,2", "y=2,1"], ["x+1 y+1", "x+2 y+2"], ["G0"]),
            ([], ["x+1 y=2", "y+2 x=1"], ["G1c"]),
            ([], ["x=1 y=", "x+1 y+2"], ["G-single"]),
            (["x=1,2"], ["x= x+1", "x= x+2"], ["lost update", "G-single"]),
            ([], ["x= x+1", "x= x+2"], ["lost update", "G2-item"]),
            ([], ["x= y= x+1", "x= y= y+2"], ["G2-item"]),
            ([], ["x= y+1", "y= z+2", "z= x+3"], ["G2-item"]),
            // Long fork: two readers see two independent writes in opposite orders.
            (["x=1 y=", "x= y=2"], ["x+1", "y+2"], ["G2-item"]),
        ] as [([String], [String], [String])])
    func `an anomaly is called by its name`(readers: [String], others: [String], names: [String]) {
        let history = (readers + others).enumerated().map { record($1, process: $0) }
        #expect(HistoryChecker.anomalies(in: history).map(\.name).sorted() == names.sorted())
    }

    @Test func `a read of what an aborted transaction wrote is G1a`() {
        let history = [record("x+1", process: 1, outcome: .aborted), record("x=1", process: 2)]
        #expect(HistoryChecker.anomalies(in: history).map(\.name) == ["G1a"])
    }

    @Test func `a read that misses a write that was answered before it began is stale`() {
        let write = record("x+1", process: 1, began: 0, ended: 1)
        #expect(HistoryChecker.anomalies(in: [write, record("x=", process: 2, began: 1, ended: 3)]).isEmpty)
        let anomalies = HistoryChecker.anomalies(in: [write, record("x=", process: 2, began: 2, ended: 3)])
        #expect(anomalies.map(\.name) == ["G-single-realtime"])
    }

    @Test func `what was acknowledged and never seen again is lost`() {
        // The write of 1 has vanished from under that of 2, which came after it.
        let history = [
            record("x+1", process: 1, began: 0, ended: 1), record("x+2", process: 1, began: 2, ended: 3),
            record("x=2", process: 1, began: 4, ended: 5),
        ]
        #expect(HistoryChecker.anomalies(in: history).map(\.name).contains("G0-realtime"))
    }

    @Test func `a read of the future is an information cycle in real time`() {
        let history = [
            record("x=1", process: 1, began: 0, ended: 1), record("x+1", process: 2, began: 2, ended: 3),
        ]
        #expect(HistoryChecker.anomalies(in: history).map(\.name) == ["G1c-realtime"])
    }

    @Test func `writes in another order than they were answered are a write cycle in real time`() {
        let history = [
            record("x+1", process: 1, began: 0, ended: 1), record("x+2", process: 2, began: 2, ended: 3),
            record("x=2,1", process: 3, began: 4, ended: 5),
        ]
        #expect(HistoryChecker.anomalies(in: history).map(\.name) == ["G0-realtime"])
    }

    @Test func `an unknown outcome may have happened, late, or never`() {
        let unknown = record("x+1 y+1", process: 1, began: 0, ended: 1, outcome: .unknown)
        let missing = record("x= y=", process: 2, began: 2, ended: 3)
        let seen = record("x=1 y=1", process: 2, began: 4, ended: 5)
        #expect(HistoryChecker.anomalies(in: [unknown, missing]).isEmpty)
        #expect(HistoryChecker.anomalies(in: [unknown, missing, seen]).isEmpty)
        // But not half, and not before it was called.
        let half = record("x=1 y=", process: 3, began: 6, ended: 7)
        #expect(HistoryChecker.anomalies(in: [unknown, half]).map(\.name) == ["G-single"])
        let early = record("x=1 y=1", process: 2, began: -2, ended: -1)
        #expect(HistoryChecker.anomalies(in: [unknown, early]).map(\.name) == ["G1c-realtime"])
    }

    @Test func `a cycle is told with its transactions and reasons`() throws {
        let history = [record("x= y= x+1", process: 0), record("x= y= y+2", process: 1)]
        let anomaly = try #require(HistoryChecker.anomalies(in: history).first)
        #expect(anomaly.transactions.sorted() == [0, 1])
        #expect(anomaly.explanation.contains("T0 read y without what was appended by T1"))
        #expect(anomaly.explanation.contains("T1 read x without what was appended by T0"))
    }

    /// All of them concurrent, unless told otherwise.
    private func record(
        _ text: String, process: Int, began: Int = 0, ended: Int = 100,
        outcome: TransactionRecord.Outcome = .committed
    ) -> TransactionRecord {
        let operations = text.split(separator: " ").map { part -> TransactionRecord.Operation in
            let key = String(part.first!)
            let values = part.dropFirst(2).split(separator: ",").map { Int($0)! }
            return part.dropFirst().first == "+" ? .append(key, values[0]) : .read(key, values)
        }
        return TransactionRecord(process: process, began: began, ended: ended, operations: operations, outcome: outcome)
    }
}
