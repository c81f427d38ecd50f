/// What a store tells about itself.
public struct StoreDescription: Sendable, Hashable, Decodable {
    /// A repository of the store.
    public struct RepositoryDescription: Sendable, Hashable, Decodable {
        /// Its name.
        public var name: String
        /// The member that holds an entity's id.
        public var key: String
    }

    /// A snapshot that is held open.
    public struct Snapshot: Sendable, Hashable, Decodable {
        /// Of the newest commit that it shows.
        public var sequence: UInt64
        /// How long it has been open.
        public var age: Duration
        /// Whether it stays as it is until it is closed, or may be taken back.
        public var isPinned: Bool
        /// How many transactions hold it.
        public var holders: Int
        /// The names of those that were given one.
        public var names: [String]

        private enum CodingKeys: String, CodingKey {
            case sequence, holders, names
            case age = "age_ms"
            case isPinned = "pinned"
        }

        /// Decodes a snapshot as the C interface tells it.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            sequence = try container.decode(UInt64.self, forKey: .sequence)
            age = .milliseconds(try container.decode(Int64.self, forKey: .age))
            isPinned = try container.decode(Bool.self, forKey: .isPinned)
            holders = try container.decode(Int.self, forKey: .holders)
            names = try container.decode([String].self, forKey: .names)
        }
    }

    /// How large a store's files are, in bytes.
    public struct Sizes: Sendable, Hashable, Decodable {
        /// The file.
        public var store: Int
        /// The log beside it.
        public var log: Int
        /// What of the file is unused.
        public var free: Int

        private enum CodingKeys: String, CodingKey {
            case store = "store_bytes"
            case log = "log_bytes"
            case free = "free_bytes"
        }
    }

    /// What a store on a server has done since it was opened.
    public struct Server: Sendable, Hashable, Decodable {
        /// Open now.
        public var connections: Int
        /// How often the server was asked, each time about any number of things.
        public var roundTrips: Int
        /// How long ago it told its newest state last.
        public var lagMilliseconds: Int
        /// How often a batch of commits began anew because another process was faster.
        public var lostRaces: Int
        /// Commits of which only a new connection told what became of them.
        public var resolvedCommits: Int

        private enum CodingKeys: String, CodingKey {
            case connections
            case roundTrips = "round_trips"
            case lagMilliseconds = "lag_ms"
            case lostRaces = "lost_races"
            case resolvedCommits = "resolved_commits"
        }
    }

    /// What it was opened with.
    public var url: String
    /// Which engine keeps it: "memory", "sqlite", "postgresql" or "provider".
    public var engine: String
    /// The version of its format.
    public var format: Int
    /// Whether writes are refused.
    public var isReadOnly: Bool
    /// Tells this life of the store from a restored copy's.
    public var incarnation: String
    /// Of the newest visible commit.
    public var sequence: UInt64
    /// The opaque token of that place in the store's history.
    public var position: String
    /// Commits that are under way.
    public var inFlight: Int
    /// Commits that wait to be stored.
    public var waiting: Int { queue.waiting }
    /// The cache, of all repositories together.
    public var cache: CacheStatistics
    /// The version of the program's schema, where one is recorded.
    public var schemaVersion: Int?
    /// Snapshots held open.
    public var snapshots: Int
    /// Each of them, oldest first.
    public var openSnapshots: [Snapshot]
    /// Of a store with a file.
    public var sizes: Sizes?
    /// Of a store on a server.
    public var server: Server?
    /// Transactions open.
    public var transactions: Int
    /// By name.
    public var repositories: [RepositoryDescription]

    private var queue: Queue

    private struct Queue: Sendable, Hashable, Decodable {
        var waiting: Int
    }

    private enum CodingKeys: String, CodingKey {
        case url, engine, format, incarnation, sequence, position, snapshots, transactions, sizes, server, repositories,
            cache
        case queue
        case isReadOnly = "read_only"
        case inFlight = "in_flight"
        case schemaVersion = "schema_version"
        case openSnapshots = "open_snapshots"
    }
}
