/// What a store tells about itself.
public struct StoreDescription: Sendable, Hashable, Decodable {
    /// A repository of the store.
    public struct RepositoryDescription: Sendable, Hashable, Decodable {
        /// Its name.
        public var name: String
        /// The member that holds an entity's id.
        public var key: String
    }

    /// What it was opened with.
    public var url: String
    /// Which engine keeps it: "memory" or "sqlite".
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
    /// Snapshots held open.
    public var snapshots: Int
    /// Transactions open.
    public var transactions: Int
    /// By name.
    public var repositories: [RepositoryDescription]

    private enum CodingKeys: String, CodingKey {
        case url, engine, format, incarnation, sequence, position, snapshots, transactions, repositories
        case isReadOnly = "read_only"
        case inFlight = "in_flight"
    }
}
