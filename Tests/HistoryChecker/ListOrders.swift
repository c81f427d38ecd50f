/// In which order values came into each list, and what the reads of lists show by themselves.
struct ListOrders {
    /// Which transaction appended a value.
    private(set) var writers: [String: [Int: Int]] = [:]
    /// The longest version of each list that was read: the order in which its values came.
    private(set) var orders: [String: [Int]] = [:]
    /// The transactions that took place: those that committed, and those of unknown outcome of which something was
    /// seen.
    private(set) var isCommitted: [Bool]
    private(set) var anomalies: [Anomaly] = []

    private let history: [TransactionRecord]
    private let reads: ExternalReads

    init(of history: [TransactionRecord], _ reads: ExternalReads) {
        self.history = history
        self.reads = reads
        isCommitted = history.map { $0.outcome == .committed }
        for (index, lists) in reads.appends.enumerated() {
            for (key, values) in lists {
                for value in values {
                    precondition(writers[key]?[value] == nil, "\(value) was appended to \(key) twice")
                    writers[key, default: [:]][value] = index
                }
            }
        }
        findSeenAmongUnknown()
        findOrders()
        for index in history.indices where isCommitted[index] {
            for (key, version) in reads.versions[index].sorted(by: { $0.key < $1.key }) {
                check(version, of: key, readBy: index)
            }
        }
        findLostUpdates()
    }

    private mutating func findSeenAmongUnknown() {
        var unread = history.indices.filter { isCommitted[$0] }
        while let reader = unread.popLast() {
            for (key, version) in reads.versions[reader] {
                for value in version {
                    guard let writer = writers[key]?[value], history[writer].outcome == .unknown, !isCommitted[writer]
                    else { continue }
                    isCommitted[writer] = true
                    unread.append(writer)
                }
            }
        }
    }

    private mutating func findOrders() {
        for index in history.indices where isCommitted[index] {
            for (key, version) in reads.versions[index] where version.count > orders[key]?.count ?? 0 {
                orders[key] = version
            }
        }
    }

    private mutating func check(_ version: [Int], of key: String, readBy reader: Int) {
        func report(_ kind: Anomaly.Kind, _ others: [Int], _ reason: String) {
            anomalies.append(Anomaly(kind, [reader] + others, "T\(reader) reads \(key) as \(version), \(reason)"))
        }
        if Set(version).count != version.count { report(.duplicateValue, [], "with a value twice") }
        let order = orders[key] ?? []
        if !order.starts(with: version) { report(.incompatibleOrder, [], "but it was also read as \(order)") }
        for value in version {
            guard let writer = writers[key]?[value] else {
                report(.readFromNowhere, [], "but nobody appended \(value)")
                continue
            }
            if history[writer].outcome == .aborted {
                report(.abortedRead, [writer], "but T\(writer), which appended \(value), was aborted")
            }
        }
        if let last = version.last, let writer = writers[key]?[last], writer != reader,
            let final = reads.appends[writer][key]?.last, final != last
        {
            report(.intermediateRead, [writer], "but T\(writer) went on to append \(final)")
        }
    }

    private mutating func findLostUpdates() {
        struct Version: Hashable {
            var key: String
            var length: Int
        }
        var updates: [Version: [Int]] = [:]
        for index in history.indices where isCommitted[index] {
            for (key, version) in reads.versions[index] where reads.appends[index][key] != nil {
                updates[Version(key: key, length: version.count), default: []].append(index)
            }
        }
        for (version, updaters) in updates.sorted(by: { $0.value[0] < $1.value[0] }) where updaters.count > 1 {
            anomalies.append(
                Anomaly(
                    .lostUpdate, updaters,
                    updaters.map { "T\($0)" }.joined(separator: ", ")
                        + " all appended to \(version.key) after reading its version of \(version.length) values"))
        }
    }
}
