public import HoldfastQuery

/// Commits, as a stream tells of them; `stream.h` describes the JSON.
public struct ChangeBatch: Sendable {
    public enum Operation: String, Sendable {
        case insert, update, delete
        /// One of the first two: what was there before is not known.
        case put
    }

    public struct Change: Sendable {
        public var repository: String
        public var id: EntityID
        public var operation: Operation
        /// The new form, where known and asked for.
        public var entity: [UInt8]?
        /// The before-image, where known and asked for.
        public var old: [UInt8]?
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
        writer.member("position")
        writer.string(position)
        if isBehind {
            writer.member("behind")
            writer.boolean(true)
        }
        writer.member("commits")
        writer.beginArray()
        for commit in commits { commit.write(to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}

extension ChangeBatch.Commit {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("sequence")
        writer.unsigned(sequence)
        writer.member("time")
        writer.unsigned(time)
        writer.member("changes")
        writer.beginArray()
        for change in changes {
            writer.beginObject()
            writer.member("repository")
            writer.string(change.repository)
            writer.member("id")
            writer.string(utf8: change.id.bytes)
            writer.member("operation")
            writer.string(change.operation.rawValue)
            if let entity = change.entity {
                writer.member("entity")
                writer.raw(entity)
            }
            if let old = change.old {
                writer.member("old")
                writer.raw(old)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}
