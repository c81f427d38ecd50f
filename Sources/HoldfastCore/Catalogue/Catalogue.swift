internal import HoldfastEnvironment
package import HoldfastQuery
package import HoldfastStorage

/// The repositories of a store, as this process knows them.
package final class Catalogue: Sendable {
    private struct State {
        var records: [RepositoryID: RepositoryRecord] = [:]
        /// Those that are there.
        var byName: [String: RepositoryID] = [:]
        /// What the storage said before the records were read: while it says so, they are the newest.
        var token: ChangeToken?
        /// When the storage was asked last whether they are: what was stored before that is known.
        var confirmed: UInt64 = 0
        /// Whether this process is just storing something that leaves the catalogue as it is.
        var isCommitting = false
        var filters: [RepositoryID: FilterCache] = [:]
        var checks: [RepositoryID: EntityCheck] = [:]
    }

    private let state = Lock(State())

    private let limits: Limits

    init(_ records: [RepositoryRecord], _ limits: Limits) {
        self.limits = limits
        add(records)
    }

    /// What is known to be newer stays. `token`: what the storage says, or said before they were read, and nothing more is to
    /// be known; nil: what it says is not known. `asked`: when it was asked for the token, before they were read.
    func add(_ records: [RepositoryRecord], _ token: ChangeToken? = nil, asked: UInt64 = 0) {
        state.withLock { state in
            if let token { state.token = token }
            state.confirmed = max(state.confirmed, asked)
            for record in records {
                if let known = state.records[record.id] {
                    if known.changed >= record.changed { continue }
                    if state.byName[known.name.lowercased()] == record.id {
                        state.byName[known.name.lowercased()] = nil
                    }
                }
                state.records[record.id] = record
                if !record.isDropped { state.byName[record.name.lowercased()] = record.id }
                state.checks[record.id] = EntityCheck(record)
            }
        }
    }

    /// From here until `endCommit` the storage may say what only the commit's end lets this process know, and the records are
    /// the newest all the same: no other process stores anything meanwhile.
    func beginCommit() { state.withLock { $0.isCommitting = true } }

    func endCommit() { state.withLock { $0.isCommitting = false } }

    /// Whether no other process has stored anything since the records were read. `asked`: when the token was asked for.
    func isCurrent(_ token: ChangeToken?, asked: UInt64) -> Bool {
        token != nil
            && state.withLock { state in
                guard state.isCommitting || state.token == token else { return false }
                state.confirmed = max(state.confirmed, asked)
                return true
            }
    }

    /// Whether all that was stored before this time is known.
    func isComplete(at time: UInt64) -> Bool { state.withLock { $0.confirmed >= time } }

    /// By name, in any case.
    func find(_ name: String) -> RepositoryRecord? {
        state.withLock { state in state.byName[name.lowercased()].flatMap { state.records[$0] } }
    }

    package func record(of repository: RepositoryID) -> RepositoryRecord? { state.withLock { $0.records[repository] } }

    /// What holds the entities of a repository against what they must be; nil of one that is not known here.
    func check(of repository: RepositoryID) -> EntityCheck? { state.withLock { $0.checks[repository] } }

    func name(of repository: RepositoryID) -> String { record(of: repository)?.name ?? "" }

    /// What it was called when this commit came.
    func name(of repository: RepositoryID, at sequence: CommitSequence) -> String {
        record(of: repository)?.name(at: sequence) ?? ""
    }

    /// The compiled filters that all who work on a repository share.
    func filters(of repository: RepositoryID) -> FilterCache {
        state.withLock { state in
            if let cache = state.filters[repository] { return cache }
            let cache = FilterCache(limits)
            state.filters[repository] = cache
            return cache
        }
    }

    /// All that this process knows of, dropped ones, too.
    var records: [RepositoryRecord] { state.withLock { Array($0.records.values) } }

    /// By name. Without the library's own.
    package var all: [RepositoryRecord] { Self.listed(state.withLock { Array($0.records.values) }) }

    /// Those that are there, by name. Without the library's own.
    package static func listed(_ records: [RepositoryRecord]) -> [RepositoryRecord] {
        records.filter { !$0.isDropped && !isReserved($0.name) }.sorted { $0.name < $1.name }
    }

    /// Of a repository that was dropped and whose name another has.
    static func hidden(_ repository: RepositoryID) -> String { "holdfast_dropped_\(repository)" }

    static func isReserved(_ name: String) -> Bool {
        ["holdfast_", "sqlite_"].contains { name.lowercased().hasPrefix($0) }
    }

    /// What may name a repository; `repository.h` gives the rule. ASCII alone, because names become SQL views and
    /// parts of messages in every language.
    static func check(_ name: String) throws(HoldfastError) {
        let bytes = Array(name.utf8)
        func isLetter(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
        }
        func isOther(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
        }
        guard (1...64).contains(bytes.count), isLetter(bytes[0]), bytes.allSatisfy({ isLetter($0) || isOther($0) }),
            !isReserved(name)
        else {
            throw HoldfastError(
                .invalidName,
                "\"\(name)\" cannot name a repository: take 1 to 64 ASCII letters, digits, underscores and hyphens, "
                    + "beginning with a letter or underscore, not with \"holdfast_\" or \"sqlite_\"")
        }
    }
}
