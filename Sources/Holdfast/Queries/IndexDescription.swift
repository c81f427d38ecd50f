internal import HoldfastCore
internal import HoldfastQuery

/// An index of a repository.
public struct IndexDescription: Sendable, Hashable {
    /// A path of its key.
    public struct Field: Sendable, Hashable {
        /// The dotted path.
        public var path: String
        /// Whether the largest come first.
        public var isDescending: Bool
    }

    /// What is being done with it.
    public enum State: String, Sendable, Hashable {
        /// It is being created; queries do not use it yet.
        case building
        /// Queries use it.
        case ready
        /// It is being taken away; queries use it no longer.
        case dropping
    }

    /// Its name.
    public var name: String
    /// Whether it is of words: then the fields have weights, of which nothing is told here, and no direction.
    public var isText: Bool
    /// The paths, in the order of the key.
    public var fields: [Field]
    /// Whether no two entities may have the same values there.
    public var isUnique: Bool
    /// How long after the time that stands under its member an entity is deleted; nil: never.
    public var expireAfter: Duration?
    /// What is being done with it.
    public var state: State
    /// Whether some entity has, or had, an array there, or on the way.
    public var hasArrays: Bool
    /// Whether it was created by an older version whose entries sorts cannot rely on: it helps with filters alone, and
    /// keeps its former idea of uniqueness, until it is dropped and created again.
    public var isOutdated: Bool

    /// From the core's report.
    init?(_ report: JSONValue) {
        guard case .string(let name) = report.member("name"), case .object(let fields) = report.member("fields"),
            case .bool(let isUnique) = report.member("unique"), case .string(let state) = report.member("state"),
            let state = State(rawValue: String(decoding: state, as: UTF8.self)),
            case .bool(let hasArrays) = report.member("arrays")
        else { return nil }
        self.name = String(decoding: name, as: UTF8.self)
        self.fields = fields.map {
            Field(path: String(decoding: $0.name, as: UTF8.self), isDescending: $0.value == .integer(-1))
        }
        self.isUnique = isUnique
        isText = report.member("kind") == .string(Array("text".utf8))
        if case .integer(let milliseconds) = report.member("expire_after_ms") {
            expireAfter = .milliseconds(milliseconds)
        }
        self.state = state
        self.hasArrays = hasArrays
        isOutdated = report.member("outdated") == .bool(true)
    }
}
