/// Hands out what a query finds in pieces, so that as many entities as there may be take little memory. Used by one
/// thread at a time; others wait.
///
/// It reads within a transaction, the caller's or one of its own, and so on one snapshot. When the snapshot is taken back
/// it goes on with a newer one if nothing that it has read is different there, and else meets a conflict.
public final class Cursor: Sendable {
    /// A piece ends with the entity that reaches this size.
    static let pieceBytes = 256 << 10

    private struct State {
        var scan: QueryScan
        var skip: UInt64
        /// Nil for all.
        var remaining: UInt64?
    }

    private let repository: Repository
    private let transaction: Transaction
    private let isOwn: Bool
    private let state: Lock<State>

    init(_ repository: Repository, _ query: QueryScan, skip: UInt64, limit: UInt64, in transaction: Transaction?)
        throws(HoldfastError)
    {
        self.repository = repository
        isOwn = transaction == nil
        self.transaction = if let transaction { transaction } else { try repository.store.begin() }
        state = Lock(State(scan: query, skip: skip, remaining: limit == 0 ? nil : limit))
    }

    deinit { if isOwn { try? transaction.rollback() } }

    /// The next entities, at most `count` (0: as many as make a good piece); none once all were handed out.
    public func next(_ count: UInt64) throws(HoldfastError) -> EntityList {
        try state.withLock { state throws(HoldfastError) in
            var list = EntityList()
            if !state.scan.isFinished && state.remaining != 0 {
                let wanted = min(count == 0 ? .max : count, state.remaining ?? .max)
                let skip = state.skip
                var skipped: UInt64 = 0
                state.scan = try transaction.scan(repository.record.id, state.scan) {
                    list = EntityList()
                    skipped = 0
                } visit: { view throws(HoldfastError) in
                    if skipped < skip {
                        skipped += 1
                        return true
                    }
                    list.append(id: view.id, version: view.version, text: view.body)
                    return UInt64(list.count) < wanted && list.json.count < Self.pieceBytes
                }
                state.skip = 0
                if let remaining = state.remaining { state.remaining = remaining - UInt64(list.count) }
            }
            list.finish()
            return list
        }
    }
}
