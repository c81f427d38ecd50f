/// What checking a repository showed: its entities, and its indexes against them.
public struct RepositoryVerification: Sendable, Hashable, Decodable {
    /// One index.
    public struct Index: Sendable, Hashable, Decodable {
        /// Its name.
        public var name: String
        /// How many entries it has.
        public var entries: Int
        /// Those that lead nowhere, or to an entity without that value.
        public var wrong: Int
        /// Those that there should be and are not.
        public var missing: Int
    }

    /// The repository's name.
    public var name: String
    /// Whether nothing is wrong.
    public var isOK: Bool
    /// How many entities there are.
    public var entities: Int
    /// How many of them cannot be read, or are stored under another id than their own.
    public var damaged: Int
    /// The ids of those, a hundred at most.
    public var damagedIDs: [String]
    /// Why not all could be looked at.
    public var failure: String?
    /// By name. What is not right is mended by dropping the index and creating it again.
    public var indexes: [Index]

    private enum CodingKeys: String, CodingKey {
        case name, entities, damaged, failure, indexes
        case isOK = "ok"
        case damagedIDs = "damaged_ids"
    }
}
