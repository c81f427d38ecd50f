/// Which transaction must have come before which, and why.
struct DependencyGraph {
    enum Dependency: Int, CaseIterable {
        /// Its write came right before the other's.
        case writeWrite
        /// The other saw its write.
        case writeRead
        /// It did not see the other's write: an antidependency.
        case readWrite
        /// It had ended before the other began.
        case realTime
    }

    struct Edge {
        let target: Int
        let dependency: Dependency
        let reason: String
    }

    private(set) var edges: [[Edge]]

    init(of history: [TransactionRecord], _ reads: ExternalReads, _ lists: ListOrders) {
        edges = Array(repeating: [], count: history.count)
        let committed = history.indices.filter { lists.isCommitted[$0] }
        addDependencies(between: committed, reads, lists)
        addRealTime(between: committed, history)
    }

    private mutating func add(_ source: Int, _ target: Int, _ dependency: Dependency, _ reason: String) {
        if source != target { edges[source].append(Edge(target: target, dependency: dependency, reason: reason)) }
    }

    private mutating func addDependencies(between committed: [Int], _ reads: ExternalReads, _ lists: ListOrders) {
        // The writers of each list in order; and those of which nothing was seen there, which come behind.
        var writers: [String: [Int?]] = [:]
        for (key, order) in lists.orders {
            writers[key] = order.map { value in lists.writers[key]?[value].flatMap { lists.isCommitted[$0] ? $0 : nil }
            }
        }
        var unseen: [String: [Int]] = [:]
        for index in committed {
            for (key, values) in reads.appends[index] where !values.allSatisfy(Set(lists.orders[key] ?? []).contains) {
                unseen[key, default: []].append(index)
            }
        }

        for (key, row) in writers {
            let known = row.compactMap { $0 }
            for (earlier, later) in zip(known, known.dropFirst()) {
                add(earlier, later, .writeWrite, "appended to \(key) before")
            }
            for later in unseen[key] ?? [] {
                if let last = known.last { add(last, later, .writeWrite, "appended to \(key) before") }
            }
        }
        for reader in committed {
            for (key, version) in reads.versions[reader] {
                let row = writers[key] ?? []
                if let writer = row.prefix(version.count).last(where: { $0 != nil }) ?? nil {
                    add(writer, reader, .writeRead, "appended to \(key) what was read by")
                }
                if let writer = row.dropFirst(version.count).first(where: { $0 != nil }) ?? nil {
                    add(reader, writer, .readWrite, "read \(key) without what was appended by")
                } else {
                    for writer in unseen[key] ?? [] {
                        add(reader, writer, .readWrite, "read \(key) without what was appended by")
                    }
                }
            }
        }
    }

    /// Draws only the edges from which the others follow: from those that ended last before a transaction began.
    private mutating func addRealTime(between committed: [Int], _ history: [TransactionRecord]) {
        let beginnings = committed.sorted { history[$0].began < history[$1].began }
        var endings = committed.filter { history[$0].outcome == .committed }
            .sorted { history[$0].ended < history[$1].ended }[...]
        var frontier: [Int] = []
        for index in beginnings {
            while let next = endings.first, history[next].ended < history[index].began {
                endings.removeFirst()
                // What had ended before this one began stands before it already.
                frontier.removeAll { history[$0].ended < history[next].began }
                frontier.append(next)
            }
            for earlier in frontier { add(earlier, index, .realTime, "ended before the beginning of") }
        }
    }
}
