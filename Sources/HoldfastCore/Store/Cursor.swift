internal import CHoldfastPlatform
public import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Hands out what a query finds in pieces, so that as many entities as there may be take little memory. Used by one
/// thread at a time; others wait.
///
/// It reads within a transaction, the caller's or one of its own, and so on one snapshot. When the snapshot is taken back
/// it goes on with a newer one if nothing that it has read is different there, and else meets a conflict.
public final class Cursor: Sendable {
    private struct State {
        var scan: QueryScan
        /// The ids of all that match, in order, where no index gives the order; `next` of them were handed out.
        var ids: FoundIDs?
        var next = 0
        var skip: UInt64
        /// Room for the text of the last piece, like which the next one will be.
        var pieceBytes = 0
        /// Nil for all.
        var remaining: UInt64?
    }

    private let repository: Repository
    private let transaction: Transaction
    private let isOwn: Bool
    private let options: QueryOptions
    /// Nil while a thread has it, which is no lock: its host may be asked whether to go on.
    private let state: Lock<(state: State?, user: UInt64)>
    private let isFree = Gate()

    init(
        _ repository: Repository, _ filter: Filter, _ options: QueryOptions, in transaction: Transaction?
    ) throws(HoldfastError) {
        try options.check(for: filter)
        self.repository = repository
        self.options = options
        isOwn = transaction == nil
        self.transaction = if let transaction { transaction } else { try repository.store.begin() }
        let state = State(
            scan: QueryScan(
                filter, sort: options.sort?.indexFields ?? [], isLimited: true, skipsDamaged: options.skipsDamaged,
                wantsScores: options.wantsScores),
            skip: options.skip, remaining: options.limit == 0 ? nil : options.limit)
        self.state = Lock((state, 0))
    }

    deinit { if isOwn { transaction.abandon() } }

    /// The next entities, at most `count` (0: as many as make a good piece); none once all were handed out.
    public func next(_ count: UInt64) throws(HoldfastError) -> EntityList { try next(count) { $0 } }

    /// The same, for somebody who does more with them before they are his: where that throws, as where anything else here
    /// does, the same entities come again.
    public func next<Result>(
        _ count: UInt64, _ hand: (EntityList) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try repository.store.requireOutsideProvider()
        var state = try take()
        defer { if !repository.store.isForeign { giveBack(state) } }
        var after = state
        let wanted = min(count == 0 ? .max : count, state.remaining ?? .max)
        var list = EntityList(expecting: state.pieceBytes, atMost: fullPiece)
        // Else the limit was reached.
        if wanted > 0 {
            if after.ids == nil, !after.scan.isFinished { try walk(wanted, &after, &list) }
            if after.ids != nil {
                // The order was worked out, and stays so, whatever comes of the piece.
                state = after
                try fetch(wanted, &after, &list)
            }
        }
        if let remaining = after.remaining { after.remaining = remaining - UInt64(list.count) }
        try list.finish()
        after.pieceBytes = Self.room(for: list.json.count)
        let result = try hand(list)
        state = after
        return result
    }

    /// Text of so many bytes, and an entity with which it ends: to move all of it for that one costs as much as the rest.
    private static func room(for bytes: Int) -> Int { bytes + bytes / 16 + 1 }

    private var fullPiece: Int { Self.room(for: repository.store.environment.limits.pieceBytes) }

    private func take() throws(HoldfastError) -> State {
        let thread = hfplatform_thread_current()
        while true {
            let seen = isFree.number
            let (taken, user) = state.withLock { slot in
                let taken = slot.state.take()
                if taken != nil { slot.user = thread }
                return (taken, slot.user)
            }
            if let taken { return taken }
            if user == thread {
                throw HoldfastError(.reentrant, "the cursor is just being used by the call that has called this one")
            }
            try isFree.waitAsking(while: seen)
        }
    }

    private func giveBack(_ previous: State) {
        state.withLock { $0 = (previous, 0) }
        isFree.advance()
    }

    /// Goes on with the scan. The first time it may find that it comes in another order than is asked for; then it
    /// sorts the ids of all that match.
    private func walk(_ wanted: UInt64, _ state: inout State, _ list: inout EntityList) throws(HoldfastError) {
        let (skip, expected, pieceBytes) = (
            state.skip, state.pieceBytes, repository.store.environment.limits.pieceBytes
        )
        var skipped: UInt64 = 0
        var sorter: Sorter?
        var piece = list
        var ranking = state.scan.plan.ranking
        let scan = try transaction.scan(repository.record.id, repository.check, state.scan) { plan in
            piece = EntityList(expecting: expected, atMost: fullPiece)
            skipped = 0
            ranking = plan.ranking
            sorter =
                plan.isSorted ? nil : options.sort.map { Sorter($0, plan.ranking, keeping: Int.max / 4, bodies: false) }
        } visit: { view throws(HoldfastError) in
            if sorter != nil {
                try sorter!.add(view)
                return true
            }
            if skipped < skip {
                skipped += 1
                return true
            }
            try piece.append(view, options.projection, ranking)
            return UInt64(piece.count) < wanted && piece.json.count < pieceBytes
        }
        if sorter != nil {
            var ids = FoundIDs()
            for item in try sorter!.finish().dropFirst(Int(clamping: skip)) {
                try item.withView { view throws(HoldfastError) in try ids.append(asking: view.id) }
            }
            state.ids = ids
        }
        state.scan = scan
        state.skip = 0
        list = piece
    }

    private func fetch(_ wanted: UInt64, _ state: inout State, _ list: inout EntityList) throws(HoldfastError) {
        let (ids, scan) = (state.ids!, state.scan)
        while state.next < ids.count, UInt64(list.count) < wanted,
            list.json.count < repository.store.environment.limits.pieceBytes
        {
            let id = ids[state.next]
            var found: (version: CommitSequence, body: [UInt8])?
            _ = try transaction.fetch(repository.key(id), asSeenBy: scan) { version, body throws(HoldfastError) in
                found = (version, try Array(asking: body))
            }
            state.next += 1
            guard let found else { continue }
            try id.bytes.withBytes { id throws(HoldfastError) in
                try found.body.withBytes { body throws(HoldfastError) in
                    try list.append(
                        EntityView(id: id, version: found.version, body: body), options.projection,
                        scan.plan.ranking)
                }
            }
        }
    }
}
