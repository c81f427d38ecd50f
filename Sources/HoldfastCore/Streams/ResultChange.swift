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
        snapshot == nil && removed.isEmpty && inserted.isEmpty && moved.isEmpty && changed.isEmpty
    }

    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("position")
        writer.string(position)
        if let snapshot { write(snapshot, to: &writer) } else { writeDifference(to: &writer) }
        writer.endObject()
        return writer.bytes
    }

    private func write(_ snapshot: [Entity], to writer: inout JSONWriter) {
        if isReset {
            writer.member("reset")
            writer.boolean(true)
        }
        writer.member("snapshot")
        writer.beginArray()
        for entity in snapshot { writer.raw(entity.body) }
        writer.endArray()
        writer.member("versions")
        writer.beginArray()
        for entity in snapshot { writer.unsigned(entity.version) }
        writer.endArray()
    }

    private func writeDifference(to writer: inout JSONWriter) {
        writer.member("merged")
        writer.unsigned(UInt64(merged))
        writer.member("removed")
        writer.beginArray()
        for one in removed {
            writer.beginObject()
            writer.position("position", one.position, one.id)
            writer.endObject()
        }
        writer.endArray()
        write(inserted, "inserted", to: &writer)
        writer.member("moved")
        writer.beginArray()
        for one in moved {
            writer.beginObject()
            writer.member("from")
            writer.unsigned(UInt64(one.from))
            writer.position("to", one.to, one.id)
            writer.endObject()
        }
        writer.endArray()
        write(changed, "changed", to: &writer)
    }

    private func write(_ placed: [Placed], _ name: String, to writer: inout JSONWriter) {
        writer.member(name)
        writer.beginArray()
        for one in placed {
            writer.beginObject()
            writer.position("position", one.position, one.entity.id)
            writer.member("version")
            writer.unsigned(one.entity.version)
            writer.member("entity")
            writer.raw(one.entity.body)
            writer.endObject()
        }
        writer.endArray()
    }
}

extension JSONWriter {
    fileprivate mutating func position(_ name: String, _ position: Int, _ id: EntityID) {
        member(name)
        unsigned(UInt64(position))
        member("id")
        string(utf8: id.bytes)
    }
}
