internal import HoldfastEnvironment
package import HoldfastQuery
package import HoldfastStorage

/// The repositories of a store, as this process knows them.
package final class Catalogue: Sendable {
    private struct State {
        var byName: [String: RepositoryRecord] = [:]
        var names: [RepositoryID: String] = [:]
        var filters: [RepositoryID: FilterCache] = [:]
        var checks: [RepositoryID: EntityCheck] = [:]
    }

    private let state = Lock(State())

    private let limits: Limits

    init(_ records: [RepositoryRecord], _ limits: Limits) {
        self.limits = limits
        add(records)
    }

    func add(_ records: [RepositoryRecord]) {
        state.withLock { state in
            for record in records {
                state.byName[record.name.lowercased()] = record
                state.names[record.id] = record.name
                state.checks[record.id] = EntityCheck(record)
            }
        }
    }

    /// By name, in any case.
    func find(_ name: String) -> RepositoryRecord? { state.withLock { $0.byName[name.lowercased()] } }

    package func record(of repository: RepositoryID) -> RepositoryRecord? {
        state.withLock { state in state.names[repository].flatMap { state.byName[$0.lowercased()] } }
    }

    /// What holds the entities of a repository against what they must be; nil of one that is not known here.
    func check(of repository: RepositoryID) -> EntityCheck? { state.withLock { $0.checks[repository] } }

    func name(of repository: RepositoryID) -> String { state.withLock { $0.names[repository] ?? "" } }

    /// The compiled filters that all who work on a repository share.
    func filters(of repository: RepositoryID) -> FilterCache {
        state.withLock { state in
            if let cache = state.filters[repository] { return cache }
            let cache = FilterCache(limits)
            state.filters[repository] = cache
            return cache
        }
    }

    /// By name. Without the library's own.
    package var all: [RepositoryRecord] {
        state.withLock { state in
            state.byName.values.filter { !Self.isReserved($0.name) }.sorted { $0.name < $1.name }
        }
    }

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
