public import HoldfastQuery

/// What a live query tells: its result, or how that differs from what was told before; `stream.h` describes the JSON and
/// how to follow.
public struct ResultChange: Sendable {
    public struct Placed: Sendable {
        /// In the new result.
        public var position: Int
        public var entity: Entity

        package init(position: Int, entity: Entity) {
            self.position = position
            self.entity = entity
        }
    }

    public struct Removed: Sendable {
        /// In the result before.
        public var position: Int
        public var id: EntityID

        package init(position: Int, id: EntityID) {
            self.position = position
            self.id = id
        }
    }

    public struct Moved: Sendable {
        /// In the result before.
        public var from: Int
        /// In the new result.
        public var to: Int
        public var id: EntityID

        package init(from: Int, to: Int, id: EntityID) {
            self.from = from
            self.to = to
            self.id = id
        }
    }

    /// The commit up to which the result is known.
    public var position: String
    /// The whole result; then the lists are empty.
    public var snapshot: [Entity]?
    /// Of a live aggregation: all its documents, as a JSON array; then there is nothing else.
    public var documents: [UInt8]?
    /// Whether the snapshot stands for changes that are not known any more.
    public var isReset = false
    /// How many commits that touched the result it brings together.
    public var merged = 0
    public var removed: [Removed] = []
    public var inserted: [Placed] = []
    public var moved: [Moved] = []
    public var changed: [Placed] = []

    package init(position: String) { self.position = position }

    package var isEmpty: Bool {
        snapshot == nil && documents == nil && removed.isEmpty && inserted.isEmpty && moved.isEmpty && changed.isEmpty
    }

    public var json: [UInt8] {
        JSONWriter.object { writer in
            writer.member("position", position)
            if let documents {
                writer.member("merged", UInt64(merged))
                writer.member("documents", raw: documents)
            } else if let snapshot {
                write(snapshot, to: &writer)
            } else {
                writeDifference(to: &writer)
            }
        }
    }

    private func write(_ snapshot: [Entity], to writer: inout JSONWriter) {
        if isReset { writer.member("reset", true) }
        writer.member("snapshot", each: snapshot) { writer, entity in writer.raw(entity.body) }
        writer.member("versions", each: snapshot) { writer, entity in writer.unsigned(entity.version) }
    }

    private func writeDifference(to writer: inout JSONWriter) {
        writer.member("merged", UInt64(merged))
        writer.member("removed", objects: removed) { writer, one in
            writer.position("position", one.position, one.id)
        }
        write(inserted, "inserted", to: &writer)
        writer.member("moved", objects: moved) { writer, one in
            writer.member("from", UInt64(one.from))
            writer.position("to", one.to, one.id)
        }
        write(changed, "changed", to: &writer)
    }

    private func write(_ placed: [Placed], _ name: String, to writer: inout JSONWriter) {
        writer.member(name)
        writer.beginArray()
        for one in placed {
            writer.beginObject()
            writer.position("position", one.position, one.entity.id)
            writer.member("version", one.entity.version)
            writer.member("entity", raw: one.entity.body)
            writer.endObject()
        }
        writer.endArray()
    }
}

extension JSONWriter {
    fileprivate mutating func position(_ name: String, _ position: Int, _ id: EntityID) {
        member(name, UInt64(position))
        member("id", utf8: id.bytes)
    }
}
