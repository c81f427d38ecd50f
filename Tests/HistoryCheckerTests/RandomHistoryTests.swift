import HistoryChecker
import SeededRandom
import Testing

/// Random histories of a small store whose isolation can be weakened.
struct RandomHistoryTests {
    @Test(arguments: Seeds.of(50))
    func `a serializable store gives no anomaly`(seed: UInt64) {
        let anomalies = HistoryChecker.anomalies(in: ToyStore(.serializable, seed: seed).run(transactions: 300))
        #expect(anomalies.isEmpty)
    }

    @Test func `snapshot isolation gives write skew and nothing worse`() {
        let names = namesOverSeeds(.snapshot)
        #expect(names.contains("G2-item"))
        #expect(names.isSubset(of: ["G2-item", "G2-item-realtime"]))
    }

    @Test func `a store without validation loses updates`() {
        let names = namesOverSeeds(.unvalidated)
        #expect(names.isSuperset(of: ["lost update", "G-single", "G2-item"]))
    }

    @Test func `a store that reads its statements apart shows read skew`() {
        #expect(namesOverSeeds(.readCommitted).contains("G-single"))
    }

    @Test func `a store that shows what is not committed yet shows what never will be`() {
        #expect(namesOverSeeds(.readUncommitted).isSuperset(of: ["G1a", "G1b"]))
    }

    @Test func `snapshots that are taken too early break the order of real time alone`() {
        let names = namesOverSeeds(.stale)
        #expect(names.contains("G-single-realtime") || names.contains("G2-item-realtime"))
        #expect(names.allSatisfy { $0.hasSuffix("-realtime") })
    }

    @Test func `five thousand transactions are checked`() {
        let history = ToyStore(.serializable, seed: 1).run(transactions: 5_000)
        #expect(HistoryChecker.anomalies(in: history).isEmpty)
    }

    private func namesOverSeeds(_ isolation: ToyStore.Isolation) -> Set<String> {
        var names: Set<String> = []
        for seed in 0..<10 as Range<UInt64> {
            let history = ToyStore(isolation, seed: seed).run(transactions: 200)
            names.formUnion(HistoryChecker.anomalies(in: history).map(\.name))
        }
        return names
    }
}
