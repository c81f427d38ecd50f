public import HoldfastEnvironment
public import HoldfastQuery

/// Hears how far long work is, between its pieces and on the thread that does it; `total` is 0 where it is not known.
/// Answering false gives up.
public typealias Progress = (_ done: UInt64, _ total: UInt64) throws(HoldfastError) -> Bool

/// How large a store is, in bytes.
public struct StorageSize: Sendable {
    /// Of the file.
    public var store: UInt64
    /// Of the write-ahead log beside it.
    public var writeAheadLog: UInt64
    /// Of the file, what nothing is stored in: new entities use it, and compacting gives it back.
    public var free: UInt64

    public init(store: UInt64, writeAheadLog: UInt64, free: UInt64) {
        self.store = store
        self.writeAheadLog = writeAheadLog
        self.free = free
    }
}

/// What an engine that speaks to a server has done since the store was opened.
public struct ServerStatistics: Sendable {
    /// Open now.
    public var connections: Int
    /// How often the server was asked, each time about any number of things.
    public var roundTrips: UInt64
    /// How long ago it told its newest state last.
    public var lagMilliseconds: UInt64
    /// How often a batch of commits began anew because another process was faster.
    public var lostRaces: UInt64
    /// Commits of which only a new connection told what became of them.
    public var resolvedCommits: UInt64

    public init(
        connections: Int, roundTrips: UInt64, lagMilliseconds: UInt64, lostRaces: UInt64, resolvedCommits: UInt64
    ) {
        self.connections = connections
        self.roundTrips = roundTrips
        self.lagMilliseconds = lagMilliseconds
        self.lostRaces = lostRaces
        self.resolvedCommits = resolvedCommits
    }
}

/// The maintenance of an engine's files. An engine without any leaves these as they are.
extension Storage {
    public var keepsCatalogue: Bool { true }

    static func noFiles(_ engine: String, _ what: String, _ cure: String) -> HoldfastError {
        HoldfastError(.unsupported, "the engine \"\(engine)\" keeps no file that could be \(what): \(cure)")
    }

    public func backUp(to path: String, _ progress: Progress) throws(HoldfastError) -> CommitSequence {
        throw Self.noFiles(engine, "backed up", "export its entities")
    }

    public func compact(unless end: Interrupt.Flag) throws(HoldfastError) -> (before: UInt64, after: UInt64) {
        throw Self.noFiles(engine, "compacted", "nothing is to be done")
    }

    public func stopCompacting(_ end: Interrupt.Flag) {}

    public func problems() throws(HoldfastError) -> [String] { [] }

    public var isWriteAheadLogTooLong: Bool { false }

    public func size() throws(HoldfastError) -> StorageSize? { nil }

    public var server: ServerStatistics? { nil }
}
