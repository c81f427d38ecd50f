package import HoldfastEnvironment
public import HoldfastQuery

public typealias IndexID = Int64

/// An index as the catalogue knows it. An engine keeps it and reads nothing in it but `id`.
public struct IndexRecord: Sendable, Equatable {
    public enum State: Int64, Sendable {
        /// Every commit keeps it, and what was stored before is still being added: it answers no query.
        case building = 0
        case ready = 1
        /// It answers no query, and its entries are being taken away.
        case dropping = 2
    }

    /// Never used again in the same store.
    public var id: IndexID
    public var repository: RepositoryID
    public var name: String
    /// What it is over, as JSON; see `IndexDefinition`.
    public var definition: [UInt8]
    public var state: State
    /// Whether some entity has, or had, other than one entry, because there is an array on a path. Never false again.
    public var hasArrays: Bool

    public init(
        id: IndexID, repository: RepositoryID, name: String, definition: [UInt8], state: State = .building,
        hasArrays: Bool = false
    ) {
        self.id = id
        self.repository = repository
        self.name = name
        self.definition = definition
        self.state = state
        self.hasArrays = hasArrays
    }
}

/// What a batch does to one entry of an index.
public struct IndexEntryChange: Sendable {
    public var index: IndexID
    /// See OrderedKey.swift.
    public var key: [UInt8]
    /// Of an entry that leads to no entity that of the whole repository: the entry has no id then, and only scans of keys
    /// alone lend it.
    public var entity: EntityKey
    /// The entity's, where it is known from a scan; 0 of no entity.
    public var number: Int64?
    public var isRemoval: Bool

    public init(index: IndexID, key: [UInt8], entity: EntityKey, number: Int64? = nil, isRemoval: Bool) {
        self.index = index
        self.key = key
        self.entity = entity
        self.number = number
        self.isRemoval = isRemoval
    }
}

/// The keys from `lower` up to, but without, `upper`, in the order of their bytes.
public struct KeyRange: Sendable, Equatable {
    public var lower: [UInt8]
    public var upper: [UInt8]

    /// Behind every key: none begins with this byte.
    public static let end: [UInt8] = [0xFF]
    public static let all = KeyRange(lower: [], upper: end)

    public init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    /// The smallest bytes greater than all that begin with these.
    package static func successor(of bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        while let last = bytes.popLast() {
            if last < 0xFF { return bytes + [last + 1] }
        }
        return end
    }
}

/// The entities that the cache has as a snapshot shows them.
package protocol CachedEntities: Sendable {
    /// Lends the entity to `body` and answers what that does; nil where it is not there.
    func lend(
        _ id: UnsafeRawBufferPointer, _ body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool?
}

/// A walk along an index.
public struct IndexScan: Sendable {
    public var index: IndexID
    public var repository: RepositoryID
    public var range: KeyRange
    /// From the greatest key to the smallest, and from the greatest id to the smallest where keys are equal.
    public var isReversed: Bool
    /// Where an earlier walk ended: this one begins behind that entry.
    public var after: Position?
    /// What is lent of each entry.
    public var parts: Parts
    /// Asked before an entity is read, by a snapshot that `asksForCached`.
    package var cached: (any CachedEntities)?

    public enum Parts: Int, Sendable {
        /// The key, and of the entity its id and number alone.
        case key
        case keyAndEntity
        /// An empty key.
        case entity
    }

    /// An entry.
    public struct Position: Sendable, Equatable {
        public var key: [UInt8]
        public var id: EntityID

        public init(key: [UInt8], id: EntityID) {
            self.key = key
            self.id = id
        }
    }

    public init(
        index: IndexID, repository: RepositoryID, range: KeyRange, isReversed: Bool = false, after: Position? = nil,
        parts: Parts = .keyAndEntity
    ) {
        self.index = index
        self.repository = repository
        self.range = range
        self.isReversed = isReversed
        self.after = after
        self.parts = parts
    }
}
