internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What has changed in the storage behind the snapshots that are checked, with the newest texts: each is read once for
/// all of them, when the first asks for it.
struct StoredChanges {
    typealias Fetch = ([EntityKey], (Int, EntityView) throws(HoldfastError) -> Void) throws(HoldfastError) -> Void

    private struct Piece {
        /// Nil where there is no entity any more.
        var bodies: [[UInt8]?]
    }

    private struct Entities {
        var changed: [(key: EntityKey, sequence: CommitSequence)]
        /// Nil for those that were not read yet, or not kept.
        var pieces: [Piece?]
    }

    let changes: ChangesSince
    /// Of the snapshots that are checked.
    private let oldest: CommitSequence
    // Not the environment, whose limits are many: this lies in what each batch sets up, and mostly nobody asks it.
    private let time: any TimeSource
    private let pieceCount: Int
    private let mostBytes: Int
    private let fetch: Fetch
    /// How long reading has taken, in nanoseconds.
    var readingTime: UInt64 = 0
    private var entities: [RepositoryID: Entities] = [:]
    private var bytes = 0

    /// `oldest`: of the snapshots that will be checked; `changes` tell all that was changed behind it. `fetch` lends those
    /// entities that there are.
    init(_ changes: ChangesSince, oldest: CommitSequence, _ environment: Environment, fetch: @escaping Fetch) {
        self.changes = changes
        self.oldest = oldest
        time = environment.time
        pieceCount = environment.limits.checkedPiece
        mostBytes = environment.limits.checkedBytes
        self.fetch = fetch
    }

    /// The first of the entities changed behind a snapshot that is there and whose text is meant.
    mutating func first(
        in repository: RepositoryID, after snapshot: CommitSequence,
        where isMeant: (EntityKey, UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> (key: EntityKey, actual: CommitSequence)? {
        if entities[repository] == nil {
            let changed = changes.changed(in: repository, after: oldest)
            let pieces = (changed.count + pieceCount - 1) / pieceCount
            entities[repository] = Entities(changed: changed, pieces: Array(repeating: nil, count: pieces))
        }
        let changed = entities[repository]!.changed
        var index = changed.partitioningIndex { $0.sequence > snapshot }
        while index < changed.count {
            let number = index / pieceCount
            let begin = number * pieceCount
            let piece = try piece(number, in: repository)
            while index < changed.count, index < begin + pieceCount {
                let (key, sequence) = changed[index]
                let matches =
                    try piece.bodies[index - begin]?.withBytes { body throws(HoldfastError) in try isMeant(key, body) }
                    ?? false
                if matches { return (key, sequence) }
                index += 1
            }
        }
        return nil
    }

    private mutating func piece(_ number: Int, in repository: RepositoryID) throws(HoldfastError) -> Piece {
        if let known = entities[repository]!.pieces[number] { return known }
        let changed = entities[repository]!.changed
        let keys = changed[(number * pieceCount)...].prefix(pieceCount).map(\.key)
        var piece = Piece(bodies: Array(repeating: nil, count: keys.count))
        var size = 0
        let began = time.monotonicNanoseconds()
        try fetch(keys) { index, view throws(HoldfastError) in
            piece.bodies[index] = try Array(asking: view.body)
            size += view.body.count
        }
        readingTime += time.monotonicNanoseconds() &- began
        // Beyond that they are read again for each who asks.
        if bytes + size <= mostBytes {
            bytes += size
            entities[repository]!.pieces[number] = piece
        }
        return piece
    }
}
