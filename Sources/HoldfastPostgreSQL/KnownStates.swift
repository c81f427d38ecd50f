internal import HoldfastEnvironment
internal import HoldfastStorage

/// What this process knows of the states of a store on a server: each row that any statement finds is held against what was known
/// before it was asked for. A server that has lost commits, such as a replica that was behind and was promoted, is told, and
/// nothing more is served until a new history begins.
final class KnownStates: Sendable {
    private struct State {
        /// Rises where the server has lost commits: what was asked before tells nothing any more.
        var history: UInt64 = 0
        /// The newest commit that is known to be stored.
        var known = CommitName(0, at: 0)
        /// What any statement has found last; nil until it is asked for again.
        var newest: StoreRow?
        /// At this time it was the newest.
        var time: UInt64 = 0
        var catalogue: (history: UInt64, catalogue: Connection.Catalogue)?
        /// Set while the server is known to have lost commits.
        var loss: HoldfastError?
    }

    let incarnation: [UInt8]
    private let location: String
    private let historyWasLost: @Sendable () -> Void
    private let state = Lock(State())
    private let shown = KnownToken()

    /// `historyWasLost` hears of each call that is refused for it.
    init(incarnation: [UInt8], location: String, historyWasLost: @escaping @Sendable () -> Void) {
        self.incarnation = incarnation
        self.location = location
        self.historyWasLost = historyWasLost
    }

    // MARK: Tokens

    static func token(of row: StoreRow) -> ChangeToken {
        ChangeToken((row.head, row.commitIdentifier, row.writes, row.history, 0, 0))
    }

    /// How many write transactions lie between the two.
    static func transactions(from token: ChangeToken, to row: StoreRow) -> UInt64? {
        row.writes >= token.words.2 && row.history == token.words.3 ? row.writes - token.words.2 : nil
    }

    // MARK: What was found

    var loss: HoldfastError? { state.withLock { $0.loss } }

    func requireWhole() throws(HoldfastError) {
        guard let loss else { return }
        if loss.status == .historyLost { historyWasLost() }
        throw loss
    }

    /// What is known when something is asked: the newest commit of which this process knows that it was stored.
    struct Question {
        let known: CommitName
        let time: UInt64
        fileprivate let history: UInt64
    }

    var question: Question {
        let now = Connection.now()
        return state.withLock { Question(known: $0.known, time: now, history: $0.history) }
    }

    /// The row as a statement of its own finds it.
    func row(of store: Int64, on connection: Connection) throws(HoldfastError) -> StoreRow {
        let question = question
        let rows = try connection.run([StoreRow.statement(store, question.known)], "reading from")[0]
        return try checked(rows, question)
    }

    /// The row in what this question was answered.
    func checked(_ rows: Rows, _ question: Question) throws(HoldfastError) -> StoreRow {
        guard var row = StoreRow(rows) else {
            // Not what a fetch answers of an entity that is not there.
            throw HoldfastError(.io, "\(location) was removed by another program: open it again")
        }
        try requireWhole()
        guard row.format <= Layout.format else {
            throw HoldfastError(
                .formatTooNew, "\(location) was changed by a newer version of this library: install that")
        }
        if row.isOfStandby && row.head < question.known.sequence { throw behind(row, question.known) }
        row.history = question.history
        let refusal = change { state -> HoldfastError? in
            if question.history != state.history { return Self.outdated }
            state.loss = loss(of: row, question.known)
            if state.loss == nil { Self.note(row, at: question.time, &state) }
            return state.loss
        }
        guard let refusal else { return row }
        if loss != nil && refusal.status == .historyLost { historyWasLost() }
        throw refusal
    }

    /// The newest row that is known, which a statement is to find unchanged.
    var expected: (row: StoreRow, question: Question)? {
        let now = Connection.now()
        return state.withLock { state in
            guard state.loss == nil, let row = state.newest else { return nil }
            return (row, Question(known: state.known, time: now, history: state.history))
        }
    }

    /// Takes note that this row was found unchanged.
    func confirm(_ row: StoreRow, _ question: Question) throws(HoldfastError) {
        try requireWhole()
        let isOutdated = change { state in
            Self.note(row, at: question.time, &state)
            return question.history != state.history
        }
        if isOutdated { throw Self.outdated }
    }

    /// Whoever asks again hears what is there.
    private static let outdated = HoldfastError(
        .historyLost, "the server's answer is of before it lost commits: read anew what is stored")

    private func loss(of row: StoreRow, _ known: CommitName) -> HoldfastError? {
        let detail: [(String, HoldfastError.DetailValue)] = [
            ("sequence", .number(known.sequence)), ("head", .number(row.head)),
        ]
        if row.incarnation != incarnation {
            return HoldfastError(
                .io, "\(location) was replaced by another store: close it, and open it again", detail: detail)
        }
        if known.isPartOf(row) { return nil }
        return HoldfastError(
            .historyLost,
            "the server of \(location) no longer has commit \(known.sequence), which it acknowledged: a replica that was "
                + "behind was promoted, or a backup restored; read anew what is stored", detail: detail)
    }

    /// Of a server that follows another.
    private func behind(_ row: StoreRow, _ known: CommitName) -> HoldfastError {
        HoldfastError(
            .busy,
            "the standby of \(location) has not got commit \(known.sequence) yet, which another one had: run it again",
            detail: [("sequence", .number(known.sequence)), ("head", .number(row.head)), ("standby", .text("behind"))])
    }

    /// Changes what is known, also to those who look at it without the lock.
    private func change<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in
            defer { shown.show(state.loss == nil ? state.newest.map(Self.token) : nil, at: state.time) }
            return try body(&state)
        }
    }

    /// Notes what was the newest state at this time.
    func note(_ row: StoreRow, at time: UInt64) { change { Self.note(row, at: time, &$0) } }

    private static func note(_ row: StoreRow, at time: UInt64, _ state: inout State) {
        guard row.history == state.history else { return }
        if row.head >= state.known.sequence { state.known = row.newest }
        // What was asked for earlier, and answered later, tells nothing new.
        if let newest = state.newest, newest.writes > row.writes { return }
        state.time = state.newest == nil ? time : max(state.time, time)
        state.newest = row
    }

    /// The newest that is known; nil where it must be asked for.
    var row: StoreRow? { state.withLock { $0.loss == nil ? $0.newest : nil } }

    /// What was the newest at this time or later, 0 for the newest that is known; nil where it must be asked for.
    func token(since oldest: UInt64) -> ChangeToken? {
        switch shown.look(since: oldest) {
        case .known(let token): token
        case .unknown: nil
        case .changing:
            state.withLock { $0.loss == nil && $0.time >= oldest ? $0.newest.map(Self.token) : nil }
        }
    }

    /// For how many nanoseconds nothing was heard of the newest state.
    var age: UInt64 {
        let now = Connection.now()
        return state.withLock { now &- min(now, $0.time) }
    }

    /// It is asked for again.
    func forget() { change { $0.newest = nil } }

    /// The catalogue, read anew where the row says that it is another.
    func catalogue(
        of row: StoreRow, _ read: () throws(HoldfastError) -> Connection.Catalogue
    ) throws(HoldfastError) -> Connection.Catalogue {
        if let known = state.withLock({ $0.catalogue }), known.history == row.history,
            known.catalogue.mark == row.catalogue
        {
            return known.catalogue
        }
        let catalogue = try read()
        state.withLock { state in
            let isNews = state.catalogue.map { $0.history < row.history || $0.catalogue.mark < catalogue.mark } ?? true
            if isNews && row.history == state.history { state.catalogue = (row.history, catalogue) }
        }
        return catalogue
    }

    // MARK: After a loss

    /// What is there counts from here on. Answers the newest commit that was known, and what was lost.
    func beginHistory() throws(HoldfastError) -> (known: CommitName, loss: HoldfastError) {
        try change { state throws(HoldfastError) in
            if let loss = state.loss, loss.status != .historyLost { throw loss }
            let known = (state.known, state.loss ?? Self.outdated)
            state.history += 1
            (state.known, state.newest, state.catalogue, state.loss) = (CommitName(0, at: 0), nil, nil, nil)
            return known
        }
    }

    /// Where what goes with it has failed: it is to begin once more, and what was asked meanwhile tells nothing.
    func endHistory(_ loss: HoldfastError, known: CommitName) {
        change { state in
            state.history += 1
            if known.sequence > state.known.sequence { state.known = known }
            (state.newest, state.catalogue, state.loss) = (nil, nil, state.loss ?? loss)
        }
    }

    /// Nothing is served any more.
    func end(with loss: HoldfastError) { change { $0.loss = loss } }
}

extension HoldfastError {
    /// Whether a server was asked that follows another, and has not all yet that was known.
    var tellsOfStandbyBehind: Bool { detail.contains { $0.name == "standby" } }
}
