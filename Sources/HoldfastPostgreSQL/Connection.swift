internal import CHoldfastPlatform
internal import HoldfastEnvironment
internal import Synchronization

/// Counts how often a server was asked.
final class RoundTrips: Sendable {
    private let number = Atomic<UInt64>(0)

    var count: UInt64 { number.load(ordering: .relaxed) }
    func add() { number.add(1, ordering: .relaxed) }
}

/// One connection to a server: statements go out together, in libpq's pipeline mode, and their answers are waited for
/// with a deadline.
///
/// Sendable: whoever owns it lets one thread at a time use it. `interrupt` alone is called by others, and looks at nothing
/// but what `handle` guards.
final class Connection: @unchecked Sendable {
    let place: String
    private let library: LibPQ
    /// Nil once it is closed.
    private let handle: Lock<LibPQ.Connection?>
    private let raw: LibPQ.Connection
    private let descriptor: Int32
    private let epoch = processEpoch()
    private let reply: UInt64
    private let roundTrips: RoundTrips
    private let preparation: Preparation
    private var prepared: PreparedStatements
    /// What answers were sent for that were not all taken, and how many of them were.
    private var expected: [PreparedStatements.Answer] = []
    private var taken = 0
    /// What the answers that are still to be taken are of.
    private var doing = ""
    private var answers: [Rows] = []
    private var refusal: HoldfastError?
    /// Whether answers are still to be taken.
    private var isWaiting = false
    private(set) var isLost = false
    /// Lost because there was no answer.
    private(set) var isSilent = false
    /// Whether the server has ended the transaction that it is in, by refusing a statement: it refuses all others until that is
    /// rolled back.
    private(set) var isAborted = false
    /// Whether a transaction was begun that was not ended.
    var isInTransaction = false
    /// What each `run` is surrounded by.
    var frame: Frame?
    /// Told that there is no answer to a `run`.
    var noteLoss: ((HoldfastError) -> Void)?
    /// Until when whoever uses it waits at most, where that is sooner than a server is given up.
    var deadline = UInt64.max

    /// A transaction of its own for what is read outside of one.
    struct Frame {
        let before: [Statement]
        let after: [Statement]
        /// Told what the first of those behind has answered.
        let check: (Rows) throws(HoldfastError) -> Void
    }

    /// Connects. Gives up at the monotonic time `deadline`, and soon after `isUnwanted`.
    init(
        to url: ServerURL, _ limits: Limits, deadline: UInt64, _ roundTrips: RoundTrips, _ preparation: Preparation,
        isUnwanted: () -> Bool
    ) throws(HoldfastError) {
        let library = try LibPQ.load()
        (raw, descriptor) = try Self.connect(library, url, deadline, isUnwanted)
        self.library = library
        place = url.place
        handle = Lock(raw)
        reply = UInt64(limits.serverReply)
        self.roundTrips = roundTrips
        self.preparation = preparation
        prepared = PreparedStatements(longest: UInt64(limits.serverPlanAge))
    }

    deinit { close() }

    var serverVersion: Int { Int(library.serverVersion(raw)) }

    // MARK: Connecting

    /// Each host has its share of the time: libpq passes over one that refuses, but to whoever polls it leaves one that says
    /// nothing, such as a primary that was paused or cut off, and goes on to no other.
    private static func connect(
        _ library: LibPQ, _ url: ServerURL, _ deadline: UInt64, _ isUnwanted: () -> Bool
    ) throws(HoldfastError) -> (LibPQ.Connection, Int32) {
        var hosts: ConnectionHosts?
        for first in 0... {
            let found = try connect(library, url, deadline, isUnwanted, &hosts, first)
            if let found { return found }
            if first + 1 >= hosts?.count ?? 1 { break }
        }
        throw ServerError.unreachable("it did not answer in time", url.place)
    }

    /// Nil where nobody has answered in the time of the host at this place, with which it begins.
    private static func connect(
        _ library: LibPQ, _ url: ServerURL, _ last: UInt64, _ isUnwanted: () -> Bool, _ hosts: inout ConnectionHosts?,
        _ first: Int
    ) throws(HoldfastError) -> (LibPQ.Connection, Int32)? {
        let settings =
            [("dbname", url.connection), ("fallback_application_name", "holdfast"), ("client_encoding", "UTF8")]
            + (hosts?.settings(from: first) ?? [])
        let started = withNames(settings.map(\.0)) { names in
            withNames(settings.map(\.1)) { values in inPlainWords { library.connectStart(names, values, 1) } }
        }
        guard let connection = started else {
            throw HoldfastError(.noMemory, "there is no memory for a connection to \(url.place)")
        }
        let known = hosts ?? ConnectionHosts(of: connection, library)
        hosts = known
        let begun = now()
        let deadline = min(last, begun &+ (last > begun ? last - begun : 0) / UInt64(max(1, known.count - first)))
        var descriptor: Int32 = -1
        let epoch = processEpoch()
        func give(_ error: HoldfastError) -> HoldfastError {
            // As in `close`.
            if processEpoch() != epoch { return error }
            hfplatform_forget_unshared(descriptor)
            library.finish(connection)
            return error
        }
        // Nothing of what the server says goes to the host's standard error.
        _ = library.setNoticeReceiver(connection, { _, _ in }, nil)
        var polling: Int32 = library.status(connection) == 1 ? LibPQ.Polling.failed : -1
        while polling != LibPQ.Polling.ok {
            if polling == LibPQ.Polling.failed {
                throw give(ServerError.unreachable(words(of: connection, library, hiding: url), url.place))
            }
            let socket = library.socket(connection)
            if socket != descriptor {
                hfplatform_forget_unshared(descriptor)
                descriptor = socket
                if !hfplatform_unshare(descriptor) {
                    throw give(HoldfastError(.noMemory, "there is no memory for a connection to \(url.place)"))
                }
            }
            let events = polling == LibPQ.Polling.reading ? POLLIN : POLLOUT
            // In stretches, to ask whether it is still wanted, and whether the call is to end.
            while !wait(descriptor, events, until: min(deadline, now() + 20_000_000)) {
                if isUnwanted() { throw give(Interrupt.cancelled) }
                do throws(HoldfastError) { try Interrupt.lookInside() } catch { throw give(error) }
                if now() >= deadline {
                    hfplatform_forget_unshared(descriptor)
                    library.finish(connection)
                    return nil
                }
            }
            polling = inPlainWords { library.connectPoll(connection) }
        }
        if library.socket(connection) != descriptor {
            hfplatform_forget_unshared(descriptor)
            descriptor = library.socket(connection)
            _ = hfplatform_unshare(descriptor)
        }
        guard library.setNonblocking(connection, 1) == 0, library.enterPipelineMode(connection) == 1 else {
            throw give(HoldfastError(.internal, "libpq refuses its pipeline mode for \(url.place)"))
        }
        return (connection, descriptor)
    }

    /// Lends texts as C has a list of them, with a null pointer behind the last.
    private static func withNames<Result>(_ texts: [String], _ body: (LibPQ.Names) -> Result) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { body($0.baseAddress!) }
    }

    /// What libpq then says is looked at: it is in the words of the C locale, whatever the host's is.
    private static func inPlainWords<Result>(_ body: () -> Result) -> Result {
        let before = hfplatform_locale_begin_plain()
        defer { hfplatform_locale_end_plain(before) }
        return body()
    }

    /// What libpq says, on one line. Of a URL that it does not understand it may say all, or the password; but a parameter that
    /// it does not know it only names.
    private static func words(of connection: LibPQ.Connection, _ library: LibPQ, hiding url: ServerURL) -> String {
        guard let words = library.errorMessage(connection) else { return "" }
        // Searched as C does: Swift's search brings a parser of regular expressions into the library.
        func tells(_ text: String) -> Bool { strstr(words, text) != nil }
        let tellsURL = tells("://") || tells(" URI") && !tells("invalid URI query parameter: \"")
        if tellsURL || url.quotedSecrets.contains(where: tells) { return "libpq does not understand it" }
        return line(String(cString: words))
    }

    private static func line(_ text: String) -> String {
        text.split { $0.isNewline || $0 == "\t" }.map(String.init).joined(separator: " ")
    }

    // MARK: Asking

    /// Runs statements in one round trip. Where the server refuses one, those behind it are not run, and it throws. In a
    /// transaction the caller rolls back then.
    @discardableResult
    func run(_ statements: [Statement], _ doing: String) throws(HoldfastError) -> [Rows] {
        guard let frame else { return try exchange(statements, doing) }
        isInTransaction = true
        let rows = try exchange(frame.before + statements + frame.after, doing)
        isInTransaction = false
        let end = frame.before.count + statements.count
        try frame.check(rows[end])
        return Array(rows[frame.before.count..<end])
    }

    /// Names what is prepared where no transaction is open: there a refusal would end that, and here nothing was done.
    private func exchange(_ statements: [Statement], _ doing: String) throws(HoldfastError) -> [Rows] {
        let isWhole = !isInTransaction || statements.first?.begins ?? false
        let prepares = isWhole && preparation.isPossible && statements.contains(where: \.isRepeated)
        do throws(HoldfastError) { return try exchange(statements, doing, prepares: prepares) } catch {
            guard prepares, error.tellsOfPreparation else { throw error }
            preparation.giveUp()
            let isInTransaction = isInTransaction
            rollBack()
            self.isInTransaction = isInTransaction
            return try exchange(statements, doing, prepares: false)
        }
    }

    private func exchange(
        _ statements: [Statement], _ doing: String, prepares: Bool
    ) throws(HoldfastError) -> [Rows] {
        let began = Self.now()
        do throws(HoldfastError) {
            try send(statements, doing, prepares: prepares)
            guard let rows = try take(until: lastMoment) else { throw silent(since: began) }
            return rows
        } catch {
            if error.tellsOfLostConnection { noteLoss?(error) }
            throw error
        }
    }

    /// When an answer that is asked for now is given up.
    private var lastMoment: UInt64 { min(Self.now() &+ reply, deadline) }

    private func silent(since began: UInt64) -> HoldfastError {
        isSilent = true
        return lose(ServerError.silent(Self.now() &- began, place))
    }

    /// Sends statements whose answers `take` gives.
    func send(_ statements: [Statement], _ doing: String, prepares: Bool = false) throws(HoldfastError) {
        try requireOpen()
        try settle()
        self.doing = doing
        (answers, expected, taken) = ([], [], 0)
        refusal = nil
        let now = Self.now()
        for statement in statements {
            if prepares && statement.isRepeated { try sendPrepared(statement, now) } else { try send(statement) }
        }
        guard library.pipelineSync(raw) == 1 else { throw lost() }
        isWaiting = true
        roundTrips.add()
        try flush()
    }

    /// The answers, one for each statement; nil where they have not come by then, and may be taken later. A thread that is to
    /// be asked whether its call is to end is asked meanwhile; where it is, the connection is lost.
    func take(until deadline: UInt64) throws(HoldfastError) -> [Rows]? {
        try requireOpen()
        while true {
            while library.isBusy(raw) != 0 {
                guard try wait(POLLIN, until: deadline) else { return nil }
                guard library.consumeInput(raw) == 1 else { throw lost() }
            }
            guard let result = library.getResult(raw) else { continue }
            switch library.resultStatus(result) {
            case LibPQ.ResultStatus.commandOK, LibPQ.ResultStatus.tuplesOK:
                let rows = Rows(result, library)
                if case .statement = answered() { answers.append(rows) }
            case LibPQ.ResultStatus.pipelineSync:
                library.clear(result)
                isWaiting = false
                defer { answers = [] }
                if let refusal {
                    // A session that the server has ended answers nothing more.
                    if refusal.tellsOfLostConnection { isLost = true }
                    isAborted = isInTransaction
                    throw refusal
                }
                return answers
            case LibPQ.ResultStatus.pipelineAborted:
                library.clear(result)
                prepared.undo(answered())
            default:
                defer { library.clear(result) }
                prepared.undo(answered())
                // Made by libpq itself.
                guard let state = library.resultField(result, LibPQ.Field.state) else { throw lost() }
                let words = library.resultField(result, LibPQ.Field.message).map { Self.line(String(cString: $0)) }
                refusal = refusal ?? ServerError.refused(String(cString: state), words ?? "", doing, place)
            }
        }
    }

    /// Of what the next answer is.
    private func answered() -> PreparedStatements.Answer {
        taken += 1
        return taken <= expected.count ? expected[taken - 1] : .statement
    }

    /// Whether the server has ended the session: it says so unasked. It says other things, too, now and then, and then another
    /// connection does as well.
    var isEnded: Bool {
        do throws(HoldfastError) { try settle() } catch { return true }
        return isLost || Self.wait(descriptor, POLLIN, until: 0)
    }

    /// Ends a transaction without waiting for the server's answer.
    func rollBack() {
        guard isInTransaction, !isLost else { return }
        (isInTransaction, isAborted) = (false, false)
        do throws(HoldfastError) {
            try send([Statement("ROLLBACK")], "rolling back in")
        } catch {
            isLost = true
        }
    }

    /// Takes answers that nobody has waited for.
    private func settle() throws(HoldfastError) {
        guard isWaiting, !isLost else { return }
        let began = Self.now()
        if try take(until: lastMoment) == nil { throw silent(since: began) }
    }

    private func send(_ statement: Statement, named name: String? = nil) throws(HoldfastError) {
        let isSent = statement.withParameters { count, values, lengths, formats in
            if let name { return library.sendPrepared(raw, name, count, values, lengths, formats, 1) }
            return library.sendQuery(raw, statement.sql, count, statement.types, values, lengths, formats, 1)
        }
        guard isSent == 1 else { throw lost() }
        expected.append(.statement)
    }

    private func sendPrepared(_ statement: Statement, _ now: UInt64) throws(HoldfastError) {
        let (named, before, isNew) = prepared.name(statement.sql, at: now)
        if let before {
            try send(.removal(of: before))
            expected[expected.count - 1] = .removal(of: before, statement.sql)
        }
        if isNew {
            let types = statement.types
            guard library.sendPrepare(raw, named.name, statement.sql, Int32(types.count), types) == 1 else {
                throw lost()
            }
            expected.append(.preparation(of: named, statement.sql))
        }
        try send(statement, named: named.name)
    }

    /// Hands everything to the system. The server may answer meanwhile, and waits while nobody takes that.
    private func flush() throws(HoldfastError) {
        let began = Self.now()
        let last = lastMoment
        while true {
            switch library.flush(raw) {
            case 0: return
            case 1:
                guard try wait(POLLIN | POLLOUT, until: last) else { throw silent(since: began) }
                guard library.consumeInput(raw) == 1 else { throw lost() }
            default: throw lost()
            }
        }
    }

    // MARK: Ending

    /// Has whoever waits for the server fail soon. Any thread.
    func interrupt() {
        if isForeign { return }
        handle.withLock { handle in if handle != nil { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    func close() {
        isLost = true
        if isForeign { return }
        let open = handle.withLock { handle in
            defer { handle = nil }
            return handle
        }
        guard let open else { return }
        hfplatform_forget_unshared(descriptor)
        library.finish(open)
    }

    /// In a forked child the connection is the parent's: the descriptor is closed already, its number may be another file's, and
    /// to say good-bye would end the parent's session.
    private var isForeign: Bool { processEpoch() != epoch }

    private func requireOpen() throws(HoldfastError) {
        if isForeign { throw HoldfastError.forked }
        if isLost { throw ServerError.lost("it was closed", place) }
    }

    private func lost() -> HoldfastError {
        guard let message = library.errorMessage(raw) else { return lose(ServerError.lost("", place)) }
        // In its words alone libpq tells one failure of its own from another. (A server may speak of shared memory.)
        if strstr(message, "out of memory") != nil || strstr(message, "allocate memory") != nil {
            return lose(ServerError.outOfMemory(place))
        }
        return lose(ServerError.lost(Self.line(String(cString: message)), place))
    }

    private func lose(_ error: HoldfastError) -> HoldfastError {
        isLost = true
        return error
    }

    // MARK: Waiting

    static func now() -> UInt64 { SystemTime().monotonicNanoseconds() }

    /// The same, and asks whether the call is to end. What it waits with, of whoever it is, stays locked meanwhile.
    private func wait(_ events: Int32, until deadline: UInt64) throws(HoldfastError) -> Bool {
        while Interrupt.isWanted {
            if Self.wait(descriptor, events, until: min(deadline, Self.now() &+ Interrupt.interval)) { return true }
            if Self.now() >= deadline { return false }
            do throws(HoldfastError) { try Interrupt.lookInside() } catch { throw lose(error) }
        }
        return Self.wait(descriptor, events, until: deadline)
    }

    /// Answers whether the descriptor is ready by then.
    private static func wait(_ descriptor: Int32, _ events: Int32, until deadline: UInt64) -> Bool {
        while true {
            let now = now()
            let milliseconds = deadline > now ? (deadline - now) / 1_000_000 + 1 : 0
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let count = poll(&entry, 1, Int32(clamping: min(milliseconds, 1_000)))
            if count > 0 { return true }
            if count < 0 && errno != EINTR { return true }
            if Self.now() >= deadline { return false }
        }
    }
}
