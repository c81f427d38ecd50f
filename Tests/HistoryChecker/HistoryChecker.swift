/// Checks whether concurrent transactions behaved as if each had run alone, at one moment between its call and its
/// answer (strict serializability).
///
/// The history is one of appends to lists and reads of whole lists, because a list tells its own past: every read
/// shows which writes came before it and in which order. From that follow the dependencies between transactions;
/// a cycle of them is an anomaly. (Adya, "Weak consistency", 1999; Kingsbury and Alvaro, "Elle", VLDB 2020.)
public enum HistoryChecker {
    /// What is wrong with the history; nothing, if it is strictly serializable.
    public static func anomalies(in history: [TransactionRecord]) -> [Anomaly] {
        let reads = ExternalReads(of: history)
        let lists = ListOrders(of: history, reads)
        let graph = DependencyGraph(of: history, reads, lists)
        return reads.anomalies + lists.anomalies + CycleSearch(in: graph).anomalies()
    }
}
