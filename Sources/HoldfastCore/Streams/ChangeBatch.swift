public import HoldfastQuery

/// Commits, as a stream tells of them; `stream.h` describes the JSON.
public struct ChangeBatch: Sendable {
    public enum Operation: String, Sendable {
        case insert, update, delete
        /// One of the first two: what was there before is not known.
        case put
        /// All that was in a repository, and the repository itself, was deleted.
        case drop
        /// A repository has another name.
        case rename
    }

    public struct Change: Sendable {
        public var repository: String
        /// Empty of a repository as a whole.
        public var id: EntityID
        public var operation: Operation
        /// The new form, where known and asked for.
        public var entity: [UInt8]?
        /// The before-image, where known and asked for.
        public var old: [UInt8]?
        /// Of a repository that was renamed: its new name.
        public var newName: String?
    }

    public struct Commit: Sendable {
        public var sequence: CommitSequence
        /// In milliseconds since 1970.
        public var time: UInt64
        /// Ordered by repository and id.
        public var changes: [Change]
    }

    /// Behind these commits.
    public var position: String
    /// Whether the stream could not keep up and tells from the commit log.
    public var isBehind = false
    public var commits: [Commit] = []

    /// About how much memory it takes.
    var size: Int {
        commits.reduce(0) { sum, commit in
            commit.changes.reduce(sum + 64) { $0 + 96 + ($1.entity?.count ?? 0) + ($1.old?.count ?? 0) }
        }
    }

    var changeCount: Int { commits.reduce(0) { $0 + $1.changes.count } }

    public var json: [UInt8] {
        var writer = JSONWriter(reservingCapacity: size)
        writer.beginObject()
        writer.member("position", position)
        if isBehind { writer.member("behind", true) }
        writer.member("commits", each: commits) { writer, commit in commit.write(to: &writer) }
        writer.endObject()
        return writer.bytes
    }
}

extension ChangeBatch.Commit {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("sequence", sequence)
        writer.member("time", time)
        writer.member("changes", objects: changes) { writer, change in
            writer.member("repository", change.repository)
            if !change.id.bytes.isEmpty { writer.member("id", utf8: change.id.bytes) }
            writer.member("operation", change.operation.rawValue)
            if let entity = change.entity { writer.member("entity", raw: entity) }
            if let old = change.old { writer.member("old", raw: old) }
            if let name = change.newName { writer.member("to", name) }
        }
        writer.endObject()
    }
}
