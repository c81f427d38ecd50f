public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

extension Store {
    /// As `hf_store_describe` documents it. `addMembers` writes what only a face knows.
    public func describe(_ addMembers: (inout JSONWriter) -> Void = { _ in }) throws(HoldfastError) -> [UInt8] {
        try requireOpen()
        let state = try storage.readState()
        catalogue.add(state.repositories)
        let (size, schema) = (try storage.size(), try knownSchemaVersion())
        var writer = JSONWriter()
        writer.beginObject()
        writer.text("url", url)
        writer.text("engine", storage.engine)
        writer.number("format", UInt64(format))
        writer.member("read_only")
        writer.boolean(storage.isReadOnly)
        writer.text("incarnation", incarnation)
        writer.number("sequence", state.head)
        writer.text("position", "\(incarnation):\(state.head)")
        writer.member("schema_version")
        if let schema { writer.integer(schema) } else { writer.null() }
        describeWork(&writer)
        writer.member("sizes")
        if let size { describe(size, &writer) } else { writer.null() }
        writer.member("cache")
        cache.statistics.write(to: &writer)
        writer.member("repositories")
        writer.beginArray()
        for record in catalogue.all {
            writer.beginObject()
            writer.text("name", record.name)
            writer.text("key", record.key)
            writer.endObject()
        }
        writer.endArray()
        addMembers(&writer)
        writer.endObject()
        return writer.bytes
    }

    private func describeWork(_ writer: inout JSONWriter) {
        writer.number("in_flight", UInt64(queue.inFlight))
        writer.member("queue")
        writer.beginObject()
        writer.number("waiting", UInt64(queue.waitingCount))
        writer.number("max_in_flight", UInt64(options.maxInFlight))
        writer.endObject()
        let open = snapshots.describe()
        writer.number("snapshots", UInt64(open.count { $0.isPinned }))
        writer.member("open_snapshots")
        writer.beginArray()
        for snapshot in open {
            writer.beginObject()
            writer.number("sequence", snapshot.sequence)
            writer.number("age_ms", snapshot.ageMilliseconds)
            writer.member("pinned")
            writer.boolean(snapshot.isPinned)
            writer.number("holders", UInt64(snapshot.holders))
            writer.member("names")
            writer.beginArray()
            for owner in snapshot.owners { writer.string(owner) }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.number("transactions", UInt64(max(0, openTransactions.load(ordering: .relaxed))))
    }

    private func describe(_ size: StorageSize, _ writer: inout JSONWriter) {
        writer.beginObject()
        writer.number("store_bytes", size.store)
        writer.number("log_bytes", size.writeAheadLog)
        writer.number("free_bytes", size.free)
        writer.endObject()
    }
}

extension JSONWriter {
    fileprivate mutating func text(_ name: String, _ value: String) {
        member(name)
        string(value)
    }

    fileprivate mutating func number(_ name: String, _ value: UInt64) {
        member(name)
        unsigned(value)
    }
}
