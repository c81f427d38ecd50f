internal import HoldfastEnvironment
internal import Synchronization

/// Whether the server keeps what is prepared on its connections: of all of a store's. A pooler that gives out connections by
/// transaction does not, and is found out by a refusal.
final class Preparation: Sendable {
    private let isRefused = Atomic<Bool>(false)

    var isPossible: Bool { !isRefused.load(ordering: .relaxed) }

    /// From here on every statement is sent whole.
    func giveUp() { isRefused.store(true, ordering: .relaxed) }
}

/// The statements that one connection has had the server prepare, so that it need not parse and plan them each time.
///
/// A pooler may hand any of the server's sessions to this connection and to others: so nobody else ever has their names, and none
/// is given to a second statement. Who names one in a session that has not got it is refused before anything is done.
///
/// A plan is of the sizes that the tables had when it was made, and a table that was small then is read as a whole: so none is kept
/// for long.
struct PreparedStatements {
    struct Named: Equatable {
        let name: String
        fileprivate let time: UInt64
    }

    /// What an answer is of.
    enum Answer {
        case statement
        /// The text of this one is to have another name.
        case removal(of: Named, String)
        case preparation(of: Named, String)
    }

    private var named: [StatementText: Named] = [:]
    private var count: UInt64 = 0
    private let prefix: String
    /// In nanoseconds.
    private let longest: UInt64

    init(longest: UInt64) {
        self.longest = longest
        let random = (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }
        prefix = "holdfast_\(random[0])\(random[1])_"
    }

    /// The name of this text, what it had before that is to go, and whether the server has it yet. It counts as prepared from here
    /// on, until its answer says otherwise.
    mutating func name(_ sql: String, at time: UInt64) -> (named: Named, before: Named?, isNew: Bool) {
        let text = StatementText(sql: sql)
        let before = named[text]
        if let before, time &- before.time < longest { return (before, nil, false) }
        count += 1
        let new = Named(name: prefix + String(count), time: time)
        named[text] = new
        return (new, before, true)
    }

    /// Takes note of what has not come to be.
    mutating func undo(_ answer: Answer) {
        switch answer {
        case .statement: break
        case .removal(let old, let sql): named[StatementText(sql: sql)] = old
        case .preparation(let new, let sql):
            let text = StatementText(sql: sql)
            if named[text] == new { named[text] = nil }
        }
    }
}

extension Statement {
    /// Names no longer what was prepared.
    static func removal(of named: PreparedStatements.Named) -> Statement { Statement("DEALLOCATE \(named.name)") }

    /// Whether it begins a transaction.
    var begins: Bool { sql.hasPrefix("BEGIN") }
}

extension HoldfastError {
    /// Whether the server refused what was prepared: invalid_sql_statement_name, duplicate_prepared_statement; and where what it
    /// answers is of other types by now, "cached plan must not change result type", feature_not_supported.
    var tellsOfPreparation: Bool { ["26000", "42P05", "0A000"].contains(sqlState) }
}
