internal import CHoldfastPlatform
internal import HoldfastEnvironment

/// Turns what a server answers, and what becomes of connections, into the library's errors: all of them are made here.
///
/// The codes are those of appendix A of PostgreSQL's documentation, "PostgreSQL Error Codes".
enum ServerError {
    /// The error for a statement that the server refused. `doing` is a gerund: "committing to".
    static func refused(_ state: String, _ words: String, _ doing: String, _ place: String) -> HoldfastError {
        // How a standby refuses a transaction that is to write.
        let state = state == "0A000" && strstr(words, "recovery") != nil ? "25006" : state
        let status = status(of: state)
        return HoldfastError(
            status, "\(doing) \(place) failed (\(words), SQLSTATE \(state))\(cure(state, words, status))",
            detail: [("sqlstate", .text(state))])
    }

    private static func status(of state: String) -> Status {
        switch state {
        case "42501": return .readOnly
        case "25006": return .readOnly
        case "53100": return .full
        case "53200": return .noMemory
        case "53300", "55P03", "57014": return .busy
        case "54000", "0A000": return .unsupported
        case "42P01", "42703", "42804", "42883", "XX001", "XX002": return .corrupt
        case "23505", "22021", "22P03": return .corrupt
        default: break
        }
        switch state.prefix(2) {
        case "40": return .busy
        // 57P01 to 57P05: the server ends the session. 58: an error of its system. 25: it has ended the transaction.
        case "08", "57", "58", "25": return .io
        case "28", "3D", "3F": return .cannotOpen
        case "53": return .full
        default: return .internal
        }
    }

    private static func cure(_ state: String, _ words: String, _ status: Status) -> String {
        switch state {
        case "42501":
            return ": grant SELECT, INSERT, UPDATE and DELETE on the holdfast_ tables to this role, USAGE on the schema"
        case "3F000": return ": let the role's search_path name a schema that it has USAGE on"
        case "25006":
            return ": connect to the primary (\"target_session_attrs=read-write\"), or open with \"read_only\": true"
        case "53300": return ": close other connections, or raise the server's max_connections"
        case "57014" where strstr(words, "timeout") != nil: return ": raise the role's statement_timeout"
        case "25P03": return ": raise the role's idle_in_transaction_session_timeout"
        default: break
        }
        switch status {
        case .full: return ": free some space on the server, then run it again"
        case .noMemory: return ": free some memory on the server, then run it again"
        case .busy: return ": run it again"
        case .io: return ": run it again when the server is back"
        case .corrupt: return ": the holdfast_ tables were changed by another program; restore a backup of the database"
        default: return ""
        }
    }

    /// The connection is no more.
    static func lost(_ words: String, _ place: String) -> HoldfastError {
        let reason = words.isEmpty ? "the server closed it" : words
        return HoldfastError(
            .io, "the connection to \(place) was lost (\(reason)): run it again when the server is back",
            detail: [("connection", .text("lost"))])
    }

    /// The connection cannot be used on, because this process had no memory for what went over it.
    static func outOfMemory(_ place: String) -> HoldfastError {
        HoldfastError(
            .noMemory, "there is no memory for what goes to \(place) and comes from it: free some, then run it again",
            detail: [("connection", .text("lost"))])
    }

    static func silent(_ nanoseconds: UInt64, _ place: String) -> HoldfastError {
        HoldfastError(
            .io, "\(place) has not answered for \(nanoseconds / 1_000_000) milliseconds: look after the server",
            detail: [("connection", .text("silent"))])
    }

    static func unreachable(_ words: String, _ place: String) -> HoldfastError {
        HoldfastError(
            .cannotOpen, "\(place) cannot be connected to (\(words)): check the URL, the server, and the role's rights",
            detail: [("connection", .text("none"))])
    }
}

extension HoldfastError {
    /// Whether the same on a new connection may go well.
    var tellsOfLostConnection: Bool {
        if let connection { return connection != "none" }
        return sqlState.hasPrefix("08") || sqlState.hasPrefix("57P") || sqlState == "25P03"
    }

    /// Whether no connection could be made.
    var tellsOfUnreachable: Bool { connection == "none" }

    /// What became of it.
    private var connection: String? {
        for case ("connection", .text(let end)) in detail { return end }
        return nil
    }

    /// The same for a store that is open, to which the server is out of reach just now.
    var whileOpen: HoldfastError {
        var error = self
        if tellsOfUnreachable { error.status = .io }
        return error
    }

    /// Whether what was to be committed may be, though the server has not said so. 40003: "statement completion unknown".
    var leavesOutcomeOpen: Bool { sqlState.isEmpty || tellsOfLostConnection || sqlState == "40003" }

    /// Whether others were in the way: serialization_failure, deadlock_detected, lock_not_available.
    var tellsOfRace: Bool { ["40001", "40P01", "55P03"].contains(sqlState) }

    /// What the server has refused a statement with; empty where it was not the server.
    var sqlState: String {
        for case ("sqlstate", .text(let state)) in detail { return state }
        return ""
    }
}
