internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What an aggregation reads of: a snapshot, or a transaction with its own writes, where what is read is recorded. Both are
/// walked in pieces, so that nothing is lent, and no lock held, while documents go through stages.
struct AggregationReader {
    enum State {
        case snapshot(any StorageSnapshot)
        case transaction(Transaction)
    }

    let state: State
    /// Those that things are looked up in, by the names that the pipeline has for them.
    let repositories: [String: RepositoryRecord]
    let limits: Limits

    /// Goes on with a scan until `visit` answers false. `begin` is told the plan before the first entity, and again, with
    /// everything since the scan was given anew, when a snapshot is taken back.
    func walk(
        _ scan: QueryScan, of repository: RepositoryRecord, begin: (Plan) -> Void,
        visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> QueryScan {
        let check = EntityCheck(repository)
        switch state {
        case .transaction(let transaction):
            return try transaction.scan(repository.id, check, scan, begin: begin, visit: visit)
        case .snapshot(let snapshot):
            var scan = scan
            try scan.run(repository.id, check, on: snapshot, begin: begin, visit)
            while scan.isPaused {
                try Interrupt.look()
                try scan.run(repository.id, check, on: snapshot, begin: scan.hasBegun ? { _ in } : begin, visit)
            }
            return scan
        }
    }
}
