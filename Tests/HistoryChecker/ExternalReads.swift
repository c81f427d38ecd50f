/// What each transaction saw of the others: its reads without what it had appended itself.
struct ExternalReads {
    /// For each transaction, the version of each list that it read, if it read it.
    private(set) var versions: [[String: [Int]]] = []
    /// For each transaction, what it appended to each list, in order.
    private(set) var appends: [[String: [Int]]] = []
    private(set) var anomalies: [Anomaly] = []

    init(of history: [TransactionRecord]) {
        for (index, transaction) in history.enumerated() {
            var version: [String: [Int]] = [:]
            var own: [String: [Int]] = [:]
            for operation in transaction.operations {
                switch operation {
                case .append(let key, let value):
                    own[key, default: []].append(value)
                case .read(let key, let list):
                    let appended = own[key] ?? []
                    let external = Array(list.dropLast(appended.count))
                    if Array(list.suffix(appended.count)) != appended || version[key].map({ $0 != external }) == true {
                        let before = (version[key].map { "\($0)" } ?? "not read") + " and appended \(appended)"
                        anomalies.append(
                            Anomaly(
                                .inconsistentWithItself, [index],
                                "T\(index) reads \(key) as \(list), which was \(before)"))
                    } else {
                        version[key] = external
                    }
                }
            }
            versions.append(version)
            appends.append(own)
        }
    }
}
