/// The constants that bound, batch, trim, reserve, cache, spill, poll or time out, in one place and by name, so that
/// tests can make them small: a promise must hold at a limit, beyond it, and where it is 1.
///
/// They travel in `Environment`. What a host may rely on, or set, is an option, or stands in the headers, and is no limit
/// of these, nor is what belongs to a file's format or to an algorithm. Spans of time are in nanoseconds.
public struct Limits: Sendable, Equatable {
    // MARK: Calls

    /// How often a thread is asked whether its call is to end, where the host wants to be asked. At 1 all the time.
    public var interruptInterval = 20_000_000
    /// How long a call that is to end waits for what it has begun on another thread and cannot take back; then that ends
    /// without it. At 1 it hardly waits.
    public var interruptGrace = 30_000_000
    /// A commit of more bytes is stored, and so many are written in a transaction, on another thread, where the one that
    /// waits for it wants to be asked. At 1 each is.
    public var largeCommitBytes = 1 << 20
    /// A thread that wants to be asked is asked at the end of a commit that took longer. At 1 of each.
    public var unaskedCommit = 50_000
    /// So many steps of a long piece of work, a text counting as one more for so many of its bytes, lie between two looks
    /// at the clock, which tells whether a thread that wants to be asked is. At 1 the clock is looked at after each step.
    public var interruptSteps = 64
    public var interruptStepBytes = 4096

    // MARK: Commits

    /// So many changes the committer remembers. With more it begins anew, and the reads of older snapshots are held against
    /// what is stored. At 1 nearly all are.
    public var recentChanges = 100_000
    /// So many sequences are reserved at once, durably; beyond them the next batch reserves again. After an unclean close
    /// at most so many are skipped. At 1 nearly every batch reserves.
    public var sequenceReservation = 65_536
    /// Whenever so many sequences have passed, the commit log and the idempotency keys are trimmed. At 1 each batch
    /// trims.
    public var trimInterval = 1024
    /// The commit log's bytes are noted in about so many pieces of what it may take, and trimmed piece by piece. What
    /// is there at opening is counted once a piece more was added, or when trimming is due. At 1 the commit log is
    /// trimmed to the newest batch.
    public var logPieces = 1024
    /// After a conflict transactions run again one after the other; one that takes so long is not waited for any more. At
    /// 1 none is.
    public var longestRetry = 1_000_000_000
    /// With more changes in the repositories that a transaction has queried, a commit whose snapshot is older than what is
    /// remembered is refused as a conflict. At 1 it mostly is.
    public var checkedChanges = 500_000
    /// So many commits are taken from the commit log at once where reads are checked. At 1 one by one.
    public var checkPage = 4096
    /// So many bytes of texts are kept while queries are checked against them; what comes beyond is read again for each.
    /// At 1 each text is.
    public var checkedBytes = 64 << 20
    /// A batch takes commits of so many bytes at most, and always one. At 1 each commit is a batch.
    public var batchBytes = 8 << 20
    /// A batch takes so many commits at most. At 1 each commit is a batch.
    public var batchCommits = 4096
    /// For so long, and twice what reading for all of them has taken, the commits of a batch are validated; those that
    /// are left go back to the queue. At least one is validated. At 1 each commit is a batch.
    public var batchTime = 200_000_000
    /// How long the leader waits for the write lock before it looks after those that wait behind it. At 1 it looks all
    /// the time.
    public var turnInterval = 20_000_000
    /// How long commits wait, at most, for another program that has the store's file locked for writing. At 1 not at all.
    public var foreignLock = 30_000_000_000
    /// After a conflict a transaction waits up to this, doubled each time, and never longer than that. At 1 not at all.
    public var firstBackoff = 200_000
    public var longestBackoff = 50_000_000
    /// Of what was written again and again between savepoints it is forgotten how it was in between, once so many writes
    /// are remembered. At 1 each time.
    public var compactedWrites = 64
    /// So many changed entities are read at once where queries are checked. At 1 one by one.
    public var checkedPiece = 256
    /// So often it is looked whether the last reader has gone, when a store closes. At 1 all the time.
    public var closingPoll = 1_000_000
    /// The owner of a commit to a server whose deadline is nearer than this leaves it to the store's own thread, which waits so
    /// much longer than anybody does for what it carries. At 1 he leads until the end, and it waits hardly longer.
    public var leadingTime = 5_000_000_000
    /// How often the owner of a commit that is not synced yields before it sleeps. At 1 it soon sleeps.
    public var ownerYields = 16
    /// So many of the ids that were changed does a conflict name. At 1 the first.
    public var namedConflicts = 16
    /// In so many rounds members and entities may be validated that only validators have added; then the commit is refused
    /// (participant.h). At 1 validators add nothing.
    public var validationRounds = 100
    /// So many who have gone may stand in a queue in front of those who wait, and as many as wait, before they are taken
    /// out. At 1 only these.
    public var passedPlaces = 64

    // MARK: Indexes

    /// So many entries of a dropped index are taken away in one commit. At 1 each has a commit of its own.
    public var clearedIndexEntries = 500
    /// So many entities of a repository that is dropped are deleted before it is asked whether to go on. At 1 one by one.
    public var droppedEntities = 4_096
    /// About so many bytes a run of an index build takes, of one snapshot; what is left comes in the next. At 1 each run is
    /// of one entity.
    public var indexRunBytes = 32 << 20
    /// So many entries, or this many bytes and the entry that reaches them, are added to an index in one commit. At 1 each
    /// entry has a commit of its own.
    public var indexPieceEntries = 800
    public var indexPieceBytes = 1 << 20

    /// So many bytes a row of a text index has, and so many the positions of one document in it; never more than by default.
    /// At 1 each posting has a row of its own, and each position is a posting.
    public var textRowBytes = 980
    public var textFragmentBytes = 400
    /// A batch keeps so many bytes of indexes' keys in memory, unless its texts are more; beyond that its commits are
    /// carried out one by one, and one that has too much alone is refused, as index.h tells. At 1 many are.
    public var indexKeyBytes = 256 << 20
    /// So many entries of an index are inserted by one statement. At 1 one by one.
    public var indexRows = 16
    /// How often indexes over a provider's entities are made anew, because others write meanwhile, before a call is refused.
    /// At 1 the first time.
    public var indexAttempts = 8

    // MARK: Reading

    /// So many ids that it found a query relies on; with more on its whole repository. At 1 nearly every query does.
    public var matchedIDs = 10_000
    /// So many compiled filters a store keeps; then it begins anew. At 1 it keeps the last. Texts of more bytes than these
    /// are compiled each time: they are lists of values more often than questions that come again. At 1 each is.
    public var filterTemplates = 256
    public var filterTemplateBytes = 1024
    /// Beyond so many ranges, as long lists in `$in` give, a field is left to the filter. At 1 each list is.
    public var planRanges = 1000
    /// Where each value of an index is wanted once, so many entries are read before it is known whether leaping from value to
    /// value pays. At 1 it is taken to, until it does not.
    public var leapTrial = 128
    /// Until then so many entries more of a value that was found are passed one by one before the others are leapt over:
    /// over fewer no leap pays. At 1 they are at the next.
    public var leapEntries = 16
    /// A piece of a cursor, or of an export, ends with the entity that reaches so many bytes. At 1 each has one entity.
    public var pieceBytes = 256 << 10
    /// About so many documents go from one stage of a pipeline to the next at once. At 1 one by one.
    public var pieceDocuments = 1024
    /// So many listings of a provider that scans have not finished a snapshot keeps; a scan whose listing went asks
    /// again when it goes on. At 1 scans that take turns ask each time.
    public var providerListings = 8
    /// How long snapshots that are kept for speed stay unused until somebody looks. At 1 it is looked all the time.
    public var tendInterval = 1_000_000_000

    /// Of so many commits of others it is read what they changed, so that the cache keeps the rest; with more of them it is
    /// emptied. At 1 it mostly is.
    public var cachedTransactions = 1000
    /// The same where they take more bytes of the commit log than so many each, 64 of them at least. At 1 it mostly is.
    public var cachedTransactionBytes = 1024
    /// After so many entities a verification ends a piece and tells its progress. At 1 after each.
    public var verifiedEntities = 1024

    // MARK: Streams

    /// How often it is looked for others' commits where somebody follows them. At 1 all the time.
    public var followerPoll = 20_000_000
    /// So many bytes of texts wait for the streams; what comes beyond is read from the commit log. At 1 nearly
    /// everything is.
    public var followerBytes = 64 << 20
    /// So many changes, or bytes of them, are on their way to an observer; beyond that it is told from the commit log
    /// once they have arrived. At 1 it mostly is.
    public var observerChanges = 10_000
    public var observerBytes = 16 << 20
    /// So many commits are taken from the commit log at once for streams. At 1 one by one.
    public var logPage = 100
    /// So many events of a live query are on their way; what comes beyond is merged into one. At 1 all that comes
    /// meanwhile is.
    public var liveQueryEvents = 16
    /// The memory of so many items that waited is kept for the next. At 1 none is.
    public var keptItems = 1000

    // MARK: Work in the background

    /// So many entities whose time has passed are deleted in one commit; the next follows at once. At 1 one by one.
    public var expiryPiece = 500
    /// How often it is looked for entities whose time has passed. At 1 all the time.
    public var expiryInterval = 1_000_000_000
    /// So many entities, or this many bytes and the entity that reaches them, an import stores in one commit. At 1 each has
    /// one of its own.
    public var importEntities = 1000
    public var importBytes = 4 << 20
    /// So many bytes of lines are asked of the host at once. At 1 one by one.
    public var linePiece = 256 << 10

    // MARK: The SQLite engine

    /// So many processes that wait for the write lock keep their order; who comes then waits for the last position. All
    /// that share a store had better agree. There are 1,024 at most. At 1 whoever comes first is next.
    public var queuePlaces = 8
    /// For so long a process has met no other that then writes without asking, and for so long it does not ask again. At 1
    /// it soon writes so, and asks each time.
    public var queueSolitude = 100_000_000
    public var queueConfidence = 1_000_000
    /// How long a process sleeps before it looks whether it can have the write lock: the next in line, the others, and
    /// all of them when they have waited twenty times the third, or two hundred times the fourth. At 1 it looks all the
    /// time.
    public var queueNextPause = 30_000
    public var queuePause = 100_000
    public var queueLongPause = 1_000_000
    public var queueLongestPause = 5_000_000
    /// How often it is looked whether another program has let go of SQLite's lock. At 1 all the time.
    public var lockPoll = 500_000
    /// Where nobody has waited for so long, a lock that is met is not known to be the same. At 1 it never is.
    public var lockMemory = 1_000_000_000
    /// How long SQLite waits for others' locks that are held for a moment, before a call answers HF_BUSY. At 1 not at all.
    public var busyTimeout = 5_000_000_000
    /// Opening and closing do not wait longer for those who only read, whom the WAL serves as well. At 1 not at all.
    public var settlePatience = 50_000_000
    /// How long the last process to close waits for one that is just opening, and how often one looks who waits at the door.
    /// At 1 not at all, and all the time.
    public var closingDoor = 5_000_000_000
    public var doorPoll = 2_000_000
    /// For so long it is not looked again whether the store's files still have their names. At 1 before each commit.
    public var filesInterval = 1_000_000
    /// So many connections that nobody reads with are kept, and so many of them keep the pages that they have read. At 1
    /// the last.
    public var idleReaders = 8
    public var warmReaders = 2
    /// So many bytes of pages a connection keeps: that which writes, where more goes into the WAL before the commit; each
    /// that reads; that which checkpoints. At 1 as few as SQLite can do with.
    public var writerPageBytes = 32 << 20
    public var readerPageBytes = 64 << 20
    public var checkpointPageBytes = 256 << 10
    /// After so many bytes of pages that were read for the pieces of cursors, which come to most of them but once, a connection
    /// lets all go that it keeps. At 1 after each piece.
    public var piecePageBytes = 8 << 20
    /// From so many bytes of WAL on writers are made to begin it anew, and every half of that it is copied. (A low
    /// "wal_limit_bytes" shrinks both.) At 1 after each commit.
    public var checkpointBytes = 64 << 20
    /// After so long without a commit the WAL is emptied. At 1 at once.
    public var checkpointIdle = 2_000_000_000
    /// How long writers wait for those who read when the WAL is to begin anew: usually, and when it is beyond its limit.
    /// How often it is looked meanwhile. At 1 not at all, and all the time.
    public var checkpointPatience = 20_000_000
    public var checkpointLongPatience = 250_000_000
    public var checkpointPoll = 20_000
    /// After a checkpoint that failed the next follows so much later; after one that somebody stood in the way of, a
    /// quarter of "snapshot_max_age_ms" later, but neither sooner nor later than this. At 1 at once.
    public var checkpointRetry = 1_000_000_000
    public var checkpointShortRetry = 50_000_000
    public var checkpointLongRetry = 10_000_000_000
    /// So many pages a backup copies before it tells its progress, and so many bytes of the WAL are written anew at once,
    /// 64 KiB at most. At 1 one by one.
    public var copyPages = 256
    public var rewriteBytes = 64 << 10
    /// Beside commits a backup rests after each piece of its work that took so long, so many times as long, and at one time
    /// no longer than this. At 1 after each look, as long as the look took, and hardly.
    public var backupPiece = 1_000_000
    public var backupRest = 3
    public var backupLongestRest = 50_000_000
    /// Of so many entities the rows are remembered that were written, for those that are written again. At 1 of the last.
    public var knownRows = 4096
    /// From so many commits in a row on, of one process alone, the connection that writes goes on reading between two of them,
    /// for so many at most. At 1 never.
    public var keptReads = 32
    /// After so long without a commit that is over, since another process's log grows beside it. At 1 at once.
    public var keptReadIdle = 20_000_000

    // MARK: The PostgreSQL engine

    /// So often a read is tried whose snapshot is lost with the connection to the server. At 1 it fails at once.
    public var snapshotAttempts = 3
    /// Transactions read in the cache what was the newest state so long ago at most, without asking the server: their commit is
    /// held against the newest. At 1 they ask each time.
    public var trustedState = 1_000_000_000
    /// So often in a row a batch of commits is tried that the server refuses because others are in its way. At 1 once.
    public var serverAttempts = 10
    /// How long a server may take for an answer before the connection is given up. At 1 each is.
    public var serverReply = 60_000_000_000
    /// How long a server's plan of a statement is used. At 1 each is made anew.
    public var serverPlanAge = 1_000_000_000
    /// A server that has answered within this is near: there it counts what a read takes it, and not one round trip more now and
    /// then. At 1 none is.
    public var serverNear = 300_000
    /// So many rows, or this many bytes and the row that reaches them, a server is asked for at once. At 1 one by one.
    public var serverRows = 1_000
    public var serverPageBytes = 1 << 20

    // MARK: The whole process

    // What follows is asked where no store is known: HOLDFAST_LIMITS sets it, and no `Environment` does.

    /// So many bytes a thread may ask for before the system is asked whether there is memory; then so many must stay free
    /// for what nobody asks for. At 1 it is asked each time, and nothing need stay.
    public var memoryUnasked = 64 << 10
    public var memoryReserve = 4 << 20
    /// So many freed handles may lie behind those that were taken again, before the list of them is cut. At 1 none.
    public var freedHandles = 1024
    /// So many handles live at once, and so often each one's slot is taken anew; beyond them a call is refused for want of
    /// memory. More no handle's bits can tell. At 1 one handle lives, and each has a slot of its own.
    public var handles = 1 << 24
    public var handleGenerations = 1 << 24
    /// Entities whose text is nested so deep, and where so many names are open at once, are checked in one pass; others are
    /// parsed, for the same answer. No more than these. At 1 nearly each is parsed.
    public var plainDepth = 32
    public var plainNames = 64
    /// A caller's buffer that is too small is doubled while it is smaller than this; then it grows as far as it must. At 1 it
    /// always does.
    public var doubledBytes = 1 << 20
    /// So many events are taken by one call. At 1 one.
    public var takenEvents = 65_536
    /// Of a text's regular expression: so many steps of compiled code, some nanoseconds each, over all places where a match
    /// may begin; then it is interpreted, which takes longer for the same answer. At 1 each is.
    public var patternSteps = 1 << 25
    /// Texts of fewer bytes share what bounds those steps. At 1 each has its own.
    public var patternShortText = 1 << 10
    /// So many items the interpreter tries, some tens of nanoseconds each, besides so many for each byte of the text, in so
    /// many KiB of memory; then the pattern is refused as too expensive. At 1 most that are interpreted are.
    public var patternItems = 1 << 21
    public var patternItemsPerByte = 8
    public var patternMemory = 32_768
    /// A pattern of more bytes is compiled on another stack than the caller's. At 1 each is.
    public var patternShort = 96
    /// The compiled code of a pattern of more bytes than the first takes so much of the caller's stack that what it has there
    /// otherwise, the second, is put elsewhere. At 1 that of each is, in as little as PCRE2 can do with.
    public var patternLong = 2048
    public var patternStackBytes = 32 << 10
    /// So many values, and types within each other, are made up of an entity's type to find out the path that a key path
    /// stands for; a type that takes more is refused. At 1 nearly each is.
    public var probedValues = 10_000
    public var probedDepth = 100
    /// So many members of a decoded object are looked for one after the other; of more there is a table. At 1 of two.
    public var fewMembers = 16
    /// Of so many entities in a row that a repository of the Swift API finds in the cache, the task lets others have a turn
    /// once. At 1 each time.
    public var cachedFetches = 64
    /// So many threads the Swift API has for calls that wait, of two kinds each; and for so long an idle one stays. At 1 one,
    /// which soon ends.
    public var waitingThreads = 16
    public var idleThread = 1_000_000_000

    public init() {}
}

extension Limits {
    /// Their names, for whoever sets them from a text.
    public static var all: [(name: String, path: WritableKeyPath<Limits, Int>)] {
        [
            ("interruptInterval", \.interruptInterval), ("interruptGrace", \.interruptGrace),
            ("largeCommitBytes", \.largeCommitBytes), ("unaskedCommit", \.unaskedCommit),
            ("recentChanges", \.recentChanges), ("sequenceReservation", \.sequenceReservation),
            ("trimInterval", \.trimInterval), ("logPieces", \.logPieces), ("longestRetry", \.longestRetry),
            ("checkedChanges", \.checkedChanges),
            ("checkPage", \.checkPage), ("checkedBytes", \.checkedBytes), ("batchTime", \.batchTime),
            ("batchBytes", \.batchBytes), ("batchCommits", \.batchCommits), ("turnInterval", \.turnInterval),
            ("foreignLock", \.foreignLock), ("ownerYields", \.ownerYields),
            ("leadingTime", \.leadingTime),
            ("interruptSteps", \.interruptSteps), ("interruptStepBytes", \.interruptStepBytes),
            ("namedConflicts", \.namedConflicts), ("validationRounds", \.validationRounds),
            ("passedPlaces", \.passedPlaces),
            ("clearedIndexEntries", \.clearedIndexEntries), ("droppedEntities", \.droppedEntities),
            ("indexRunBytes", \.indexRunBytes),
            ("indexPieceEntries", \.indexPieceEntries), ("indexPieceBytes", \.indexPieceBytes),
            ("textRowBytes", \.textRowBytes), ("textFragmentBytes", \.textFragmentBytes),
            ("matchedIDs", \.matchedIDs), ("filterTemplates", \.filterTemplates), ("pieceBytes", \.pieceBytes),
            ("pieceDocuments", \.pieceDocuments),
            ("tendInterval", \.tendInterval), ("cachedTransactions", \.cachedTransactions),
            ("followerPoll", \.followerPoll), ("followerBytes", \.followerBytes),
            ("observerChanges", \.observerChanges), ("observerBytes", \.observerBytes), ("logPage", \.logPage),
            ("providerListings", \.providerListings),
            ("liveQueryEvents", \.liveQueryEvents), ("expiryPiece", \.expiryPiece),
            ("expiryInterval", \.expiryInterval), ("importEntities", \.importEntities), ("importBytes", \.importBytes),
            ("filterTemplateBytes", \.filterTemplateBytes), ("planRanges", \.planRanges),
            ("leapEntries", \.leapEntries), ("leapTrial", \.leapTrial),
            ("firstBackoff", \.firstBackoff), ("longestBackoff", \.longestBackoff),
            ("compactedWrites", \.compactedWrites), ("checkedPiece", \.checkedPiece),
            ("closingPoll", \.closingPoll), ("indexKeyBytes", \.indexKeyBytes), ("indexRows", \.indexRows),
            ("indexAttempts", \.indexAttempts), ("cachedTransactionBytes", \.cachedTransactionBytes),
            ("verifiedEntities", \.verifiedEntities), ("keptItems", \.keptItems), ("linePiece", \.linePiece),
        ] + ofSQLite + ofPostgreSQL + ofProcesses
    }

    private static var ofSQLite: [(name: String, path: WritableKeyPath<Limits, Int>)] {
        [
            ("queuePlaces", \.queuePlaces), ("queueSolitude", \.queueSolitude),
            ("queueConfidence", \.queueConfidence), ("queueNextPause", \.queueNextPause),
            ("queuePause", \.queuePause), ("queueLongPause", \.queueLongPause),
            ("queueLongestPause", \.queueLongestPause), ("lockPoll", \.lockPoll), ("lockMemory", \.lockMemory),
            ("busyTimeout", \.busyTimeout), ("settlePatience", \.settlePatience), ("closingDoor", \.closingDoor),
            ("doorPoll", \.doorPoll), ("filesInterval", \.filesInterval), ("idleReaders", \.idleReaders),
            ("warmReaders", \.warmReaders), ("writerPageBytes", \.writerPageBytes),
            ("readerPageBytes", \.readerPageBytes), ("checkpointPageBytes", \.checkpointPageBytes),
            ("piecePageBytes", \.piecePageBytes),
            ("checkpointBytes", \.checkpointBytes), ("checkpointIdle", \.checkpointIdle),
            ("checkpointPatience", \.checkpointPatience), ("checkpointLongPatience", \.checkpointLongPatience),
            ("checkpointPoll", \.checkpointPoll), ("checkpointRetry", \.checkpointRetry),
            ("checkpointShortRetry", \.checkpointShortRetry), ("checkpointLongRetry", \.checkpointLongRetry),
            ("copyPages", \.copyPages), ("rewriteBytes", \.rewriteBytes),
            ("backupPiece", \.backupPiece), ("backupRest", \.backupRest), ("backupLongestRest", \.backupLongestRest),
            ("knownRows", \.knownRows), ("keptReads", \.keptReads), ("keptReadIdle", \.keptReadIdle),
        ]
    }

    private static var ofPostgreSQL: [(name: String, path: WritableKeyPath<Limits, Int>)] {
        [
            ("snapshotAttempts", \.snapshotAttempts), ("serverAttempts", \.serverAttempts),
            ("trustedState", \.trustedState),
            ("serverReply", \.serverReply), ("serverPlanAge", \.serverPlanAge), ("serverNear", \.serverNear),
            ("serverRows", \.serverRows), ("serverPageBytes", \.serverPageBytes),
        ]
    }

    private static var ofProcesses: [(name: String, path: WritableKeyPath<Limits, Int>)] {
        [
            ("memoryUnasked", \.memoryUnasked), ("memoryReserve", \.memoryReserve), ("freedHandles", \.freedHandles),
            ("handles", \.handles), ("handleGenerations", \.handleGenerations),
            ("plainDepth", \.plainDepth), ("plainNames", \.plainNames),
            ("fewMembers", \.fewMembers), ("cachedFetches", \.cachedFetches),
            ("doubledBytes", \.doubledBytes), ("takenEvents", \.takenEvents), ("waitingThreads", \.waitingThreads),
            ("idleThread", \.idleThread),
            ("patternSteps", \.patternSteps), ("patternShortText", \.patternShortText),
            ("patternItems", \.patternItems), ("patternItemsPerByte", \.patternItemsPerByte),
            ("patternMemory", \.patternMemory), ("patternShort", \.patternShort), ("patternLong", \.patternLong),
            ("patternStackBytes", \.patternStackBytes),
            ("probedValues", \.probedValues), ("probedDepth", \.probedDepth),
        ]
    }

    /// Waits whose end is an error, and amounts beyond which a call is refused. Made small they break no promise, but a
    /// program that counts such answers as wrong leaves them as they are.
    public static var refusing: Set<WritableKeyPath<Limits, Int>> {
        [
            \.foreignLock, \.busyTimeout, \.serverReply, \.snapshotAttempts, \.serverAttempts,
            \.closingDoor, \.indexKeyBytes, \.indexAttempts, \.patternItems,
            \.patternItemsPerByte, \.patternMemory, \.probedValues, \.probedDepth,
            \.validationRounds, \.handles, \.handleGenerations,
        ]
    }

    /// More than this is as much: beyond all that there is, and far from where sums and products of limits overflow.
    public static let greatest = 1 << 48

    /// "recentChanges=1,batchCommits=2": each a name and a number from 1 on. What is not named stays as it is. A name with
    /// a dot ("python.eventBatch") is of the binding that it names, and only that looks at it.
    public init(_ text: String) throws(HoldfastError) {
        self.init()
        for setting in text.split(separator: ",") {
            if setting.prefix(while: { $0 != "=" }).contains(".") { continue }
            let parts = setting.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let number = Int(parts[1]), number >= 1,
                let limit = Self.all.first(where: { $0.name == parts[0] })
            else { throw HoldfastError(.invalidOption, "no limit can be set by \"\(setting)\"") }
            self[keyPath: limit.path] = min(number, Self.greatest)
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
