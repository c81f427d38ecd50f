internal import HoldfastEnvironment
internal import HoldfastStorage

/// What this process knows of the states of a store on a server: each row that any statement finds is held against what was known
/// before it was asked for. A server that has lost commits, such as a replica that was behind and was promoted, is told, and
/// nothing more is served.
final class KnownStates: Sendable {
    private struct Newest {
        /// What any statement has found last; nil until it is asked for again.
        var row: StoreRow?
        /// At this time it was the newest.
        var time: UInt64 = 0
    }

    let incarnation: [UInt8]
    private let location: String
    private let newest = Lock(Newest())
    private let known = Lock(CommitName(0, at: 0))
    private let knownCatalogue = Lock<Connection.Catalogue?>(nil)
    /// Set when the server has turned out to have lost commits.
    private let lossFound = Lock<HoldfastError?>(nil)

    init(incarnation: [UInt8], location: String) {
        self.incarnation = incarnation
        self.location = location
    }

    // MARK: Tokens

    static func token(of row: StoreRow) -> ChangeToken {
        ChangeToken((row.head, row.commitIdentifier, row.writes, 0, 0, 0))
    }

    /// How many write transactions lie between the two.
    static func transactions(from token: ChangeToken, to row: StoreRow) -> UInt64? {
        row.writes >= token.words.2 ? row.writes - token.words.2 : nil
    }

    // MARK: What was found

    var loss: HoldfastError? { lossFound.withLock { $0 } }

    func requireWhole() throws(HoldfastError) { if let loss { throw loss } }

    /// What is known when something is asked: the newest commit of which this process knows that it was stored.
    struct Question {
        let known: CommitName
        let time: UInt64
    }

    var question: Question { Question(known: known.withLock { $0 }, time: Connection.now()) }

    /// The row in what this question was answered.
    func checked(_ rows: Rows, _ question: Question) throws(HoldfastError) -> StoreRow {
        guard let row = StoreRow(rows) else {
            throw HoldfastError(.notFound, "\(location) was removed by another program: open it again")
        }
        try requireWhole()
        guard row.format <= Layout.format else {
            throw HoldfastError(
                .formatTooNew, "\(location) was changed by a newer version of this library: install that")
        }
        let before = question.known
        guard before.isPartOf(row), row.incarnation == incarnation else {
            let loss = HoldfastError(
                .io,
                "the server of \(location) no longer has commit \(before.sequence), which it acknowledged: a replica that was "
                    + "behind was promoted, or a backup restored; close the store, and open it again",
                detail: [("sequence", .number(before.sequence)), ("head", .number(row.head))])
            lossFound.withLock { $0 = loss }
            throw loss
        }
        note(row, at: question.time)
        return row
    }

    /// Notes what was the newest state at this time.
    func note(_ row: StoreRow, at time: UInt64) {
        known.withLock { known in if row.head >= known.sequence { known = row.newest } }
        newest.withLock { newest in
            // What was asked for earlier, and answered later, tells nothing new.
            if let known = newest.row, known.writes > row.writes { return }
            (newest.row, newest.time) = (row, max(newest.time, time))
        }
    }

    /// What was the newest at most so many nanoseconds ago, `.max` for the newest that is known; nil where it must be asked for.
    func row(within age: UInt64) -> StoreRow? {
        if loss != nil { return nil }
        return newest.withLock { newest in
            age == .max || age > 0 && Connection.now() &- newest.time <= age ? newest.row : nil
        }
    }

    /// For how many nanoseconds nothing was heard of the newest state.
    var age: UInt64 { Connection.now() &- newest.withLock { $0.time } }

    /// It is asked for again.
    func forget() { newest.withLock { $0.row = nil } }

    /// The catalogue, read anew where the mark says that it is another.
    func catalogue(
        _ mark: Int64, _ read: () throws(HoldfastError) -> Connection.Catalogue
    ) throws(HoldfastError) -> Connection.Catalogue {
        if let known = knownCatalogue.withLock({ $0 }), known.mark == mark { return known }
        let catalogue = try read()
        knownCatalogue.withLock { known in if known.map({ $0.mark < mark }) ?? true { known = catalogue } }
        return catalogue
    }
}
