/// The constants that bound, batch, trim, reserve, cache, spill, poll or time out, in one place and by name, so that
/// tests can make them small: a promise must hold at a limit, beyond it, and where it is 1.
///
/// They travel in `Environment`. None of them is a promise to the host: what a host may rely on, or set, is an option.
/// Spans of time are in nanoseconds.
public struct Limits: Sendable, Equatable {
    // MARK: Commits

    /// So many changes the committer remembers. With more it begins anew, and the reads of older snapshots are held against
    /// what is stored. At 1 nearly all are.
    public var recentChanges = 100_000
    /// So many sequences are reserved at once, durably; beyond them the next batch reserves again. After an unclean close
    /// at most so many are skipped. At 1 nearly every batch reserves.
    public var sequenceReservation = 65_536
    /// Whenever so many sequences have passed, the log and the idempotency keys are trimmed. At 1 each batch trims.
    public var trimInterval = 1024
    /// The log's bytes are noted in about so many pieces of what it may take, and trimmed piece by piece. What is there at
    /// opening is counted once a piece more was added, or when trimming is due. At 1 the log is trimmed to the newest batch.
    public var logPieces = 1024
    /// After a conflict transactions run again one after the other; one that takes so long is not waited for any more. At
    /// 1 none is.
    public var longestRetry = 1_000_000_000
    /// With more changes in the repositories that a transaction has queried, a commit whose snapshot is older than what is
    /// remembered is refused as a conflict. At 1 it mostly is.
    public var checkedChanges = 500_000
    /// So many commits are taken from the log at once where reads are checked. At 1 one by one.
    public var checkPage = 4096
    /// So many bytes of texts are kept while queries are checked against them; what comes beyond is read again for each.
    /// At 1 each text is.
    public var checkedBytes = 64 << 20
    /// A batch takes commits of so many bytes at most, and always one. At 1 each commit is a batch.
    public var batchBytes = 8 << 20
    /// A batch takes so many commits at most. At 1 each commit is a batch.
    public var batchCommits = 4096
    /// For so long, and twice what reading for all of them has taken, the commits of a batch are judged; those that are
    /// left go back to the queue. At least one is judged. At 1 each commit is a batch.
    public var batchTime = 200_000_000
    /// How long the leader waits for its process's turn before it looks after those that wait behind it. At 1 it looks all
    /// the time.
    public var turnInterval = 20_000_000
    /// How long commits wait, at most, for another program that has the store's file locked for writing. At 1 not at all.
    public var foreignLock = 30_000_000_000
    /// How often the owner of a commit that is not synced yields before it sleeps. At 1 it soon sleeps.
    public var ownerYields = 16

    // MARK: Indexes

    /// So many entries of a dropped index are taken away in one commit. At 1 each has a commit of its own.
    public var clearedIndexEntries = 500
    /// About so many bytes a run of an index build takes, of one snapshot; what is left comes in the next. At 1 each run is
    /// of one entity.
    public var indexRunBytes = 32 << 20
    /// So many entries, or this many bytes and the entry that reaches them, are added to an index in one commit. At 1 each
    /// entry has a commit of its own.
    public var indexPieceEntries = 800
    public var indexPieceBytes = 1 << 20

    // MARK: Reading

    /// So many ids that it found a query relies on; with more on its whole repository. At 1 nearly every query does.
    public var matchedIDs = 10_000
    /// So many compiled filters a store keeps; then it begins anew. At 1 it keeps the last.
    public var filterTemplates = 256
    /// A piece of a cursor, or of an export, ends with the entity that reaches so many bytes. At 1 each has one entity.
    public var pieceBytes = 256 << 10
    /// So many listings of a provider that scans have not finished a snapshot keeps; a scan whose listing went asks
    /// again when it goes on. At 1 scans that take turns ask each time.
    public var providerListings = 8
    /// How long snapshots that are kept for speed stay unused until somebody looks. At 1 it is looked all the time.
    public var tendInterval = 1_000_000_000

    /// Of so many commits of others it is read what they changed, so that the cache keeps the rest; with more of them it is
    /// emptied. At 1 it mostly is.
    public var cachedTransactions = 1000

    // MARK: Streams

    /// How often it is looked for others' commits where somebody follows them. At 1 all the time.
    public var followerPoll = 20_000_000
    /// So many bytes of texts wait for the streams; what comes beyond is read from the log. At 1 nearly everything is.
    public var followerBytes = 64 << 20
    /// So many changes, or bytes of them, are on their way to an observer; beyond that it is told from the log once they
    /// have arrived. At 1 it mostly is.
    public var observerChanges = 10_000
    public var observerBytes = 16 << 20
    /// So many commits are taken from the log at once for streams. At 1 one by one.
    public var logPage = 100
    /// So many events of a live query are on their way; what comes beyond is merged into one. At 1 all that comes
    /// meanwhile is.
    public var liveQueryEvents = 16

    // MARK: Work in the background

    /// So many entities whose time has passed are deleted in one commit; the next follows at once. At 1 one by one.
    public var expiryPiece = 500
    /// How often it is looked for entities whose time has passed. At 1 all the time.
    public var expiryInterval = 1_000_000_000
    /// So many entities, or this many bytes and the entity that reaches them, an import stores in one commit. At 1 each has
    /// one of its own.
    public var importEntities = 1000
    public var importBytes = 4 << 20

    public init() {}
}

extension Limits {
    /// Their names, for whoever sets them from a text.
    public static var all: [(name: String, path: WritableKeyPath<Limits, Int>)] {
        [
            ("recentChanges", \.recentChanges), ("sequenceReservation", \.sequenceReservation),
            ("trimInterval", \.trimInterval), ("logPieces", \.logPieces), ("longestRetry", \.longestRetry),
            ("checkedChanges", \.checkedChanges),
            ("checkPage", \.checkPage), ("checkedBytes", \.checkedBytes), ("batchTime", \.batchTime),
            ("batchBytes", \.batchBytes), ("batchCommits", \.batchCommits), ("turnInterval", \.turnInterval),
            ("foreignLock", \.foreignLock), ("ownerYields", \.ownerYields),
            ("clearedIndexEntries", \.clearedIndexEntries), ("indexRunBytes", \.indexRunBytes),
            ("indexPieceEntries", \.indexPieceEntries), ("indexPieceBytes", \.indexPieceBytes),
            ("matchedIDs", \.matchedIDs), ("filterTemplates", \.filterTemplates), ("pieceBytes", \.pieceBytes),
            ("tendInterval", \.tendInterval), ("cachedTransactions", \.cachedTransactions),
            ("followerPoll", \.followerPoll), ("followerBytes", \.followerBytes),
            ("observerChanges", \.observerChanges), ("observerBytes", \.observerBytes), ("logPage", \.logPage),
            ("providerListings", \.providerListings),
            ("liveQueryEvents", \.liveQueryEvents), ("expiryPiece", \.expiryPiece),
            ("expiryInterval", \.expiryInterval), ("importEntities", \.importEntities), ("importBytes", \.importBytes),
        ]
    }

    /// "recentChanges=1,batchCommits=2": each a name and a number from 1 on. What is not named stays as it is.
    public init(_ text: String) throws(HoldfastError) {
        self.init()
        for setting in text.split(separator: ",") {
            let parts = setting.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let number = Int(parts[1]), number >= 1,
                let limit = Self.all.first(where: { $0.name == parts[0] })
            else { throw HoldfastError(.invalidOption, "no limit can be set by \"\(setting)\"") }
            self[keyPath: limit.path] = number
        }
    }
}

extension Limits: CustomStringConvertible {
    /// What differs from the usual, as `init(_:)` takes it.
    public var description: String {
        let usual = Limits()
        return Self.all.filter { self[keyPath: $0.path] != usual[keyPath: $0.path] }
            .map { "\($0.name)=\(self[keyPath: $0.path])" }.joined(separator: ",")
    }
}
