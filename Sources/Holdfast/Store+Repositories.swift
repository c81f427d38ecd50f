internal import HoldfastCore
internal import HoldfastEnvironment

/// The repositories of a store as wholes.
extension Store {
    /// The names of the repositories that are there, in order: those that were opened once, in whatever process, with
    /// entities or without, and were not dropped.
    public func repositories() async throws -> [String] {
        try await waiting { [core] () throws(CoreError) in try core.repositories() }
    }

    /// Drops a repository: its entities and indexes and the repository itself, in one commit.
    ///
    /// Whoever has it, in whatever process, finds an empty repository, which is there again as soon as something is stored
    /// in it; with another `key` it can be created anew. A transaction that has read entities of it conflicts when it commits
    /// afterwards; one that only saves there brings it back. Streams tell it as one change, `.drop`. No validator is asked.
    /// Other commits wait while the entities are deleted, some seconds for a million.
    ///
    /// It is a commit of its own, and `.invalidState` inside a transaction. Throws `.notFound`, `.invalidName`, and
    /// `.unsupported` where the entities lie with a provider.
    /// - Parameter name: As at its creation.
    public func drop(_ name: String) async throws {
        try requireOutsideTransaction()
        try await waiting { [core] () throws(CoreError) in try core.drop(name) }
    }

    /// Gives a repository another name, in one commit, however many entities it has; their versions stay, and its indexes.
    ///
    /// Whoever has it, in whatever process, has it by its new name then, and so do streams and live queries of it; the old
    /// name is free: what was described before and runs later (`deferred`) means what has the name then. Streams tell it as one change, `.rename`, and what was committed before under the name from before.
    ///
    /// It is a commit of its own, and `.invalidState` inside a transaction. Throws `.notFound`, `.exists` (there is one of the
    /// new name), `.invalidName`, and `.unsupported` where the entities lie with a provider.
    /// - Parameters:
    ///   - name: As at its creation.
    ///   - newName: As of ``repository(of:named:key:cachePolicy:encoder:decoder:)``.
    public func rename(_ name: String, to newName: String) async throws {
        try requireOutsideTransaction()
        try await waiting { [core] () throws(CoreError) in try core.rename(name, to: newName) }
    }

    fileprivate func requireOutsideTransaction() throws {
        guard TransactionScope.scope(of: self) == nil else {
            throw HoldfastError(
                .invalidState,
                "a repository is dropped, or renamed, by a commit of its own, not as a part of a transaction: call it outside"
            )
        }
    }
}

extension BlockingStore {
    /// The names of the repositories that are there, in order: ``Store/repositories()``.
    public func repositories() throws -> [String] {
        try now { () throws(CoreError) in try store.core.repositories() }
    }

    /// Drops a repository with all that is in it: ``Store/drop(_:)``.
    public func drop(_ name: String) throws {
        try store.requireOutsideTransaction()
        try now { () throws(CoreError) in try store.core.drop(name) }
    }

    /// Gives a repository another name: ``Store/rename(_:to:)``.
    public func rename(_ name: String, to newName: String) throws {
        try store.requireOutsideTransaction()
        try now { () throws(CoreError) in try store.core.rename(name, to: newName) }
    }
}
