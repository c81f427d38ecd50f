public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

extension Store {
    /// As `hf_store_describe` documents it. `addMembers` writes what only a face knows.
    public func describe(_ addMembers: (inout JSONWriter) -> Void = { _ in }) throws(HoldfastError) -> [UInt8] {
        try requireOpen()
        let state = try readState()
        catalogue.add(state.repositories)
        let (size, schema) = (try storage.size(), try knownSchemaVersion())
        return JSONWriter.object { writer in
            writer.member("url", url)
            writer.member("engine", storage.engine)
            writer.member("format", UInt64(format))
            writer.member("read_only", storage.isReadOnly)
            writer.member("incarnation", incarnation)
            writer.member("sequence", state.head)
            writer.member("position", "\(incarnation):\(state.head)")
            writer.member("schema_version")
            if let schema { writer.integer(schema) } else { writer.null() }
            describeWork(&writer)
            writer.member("sizes")
            if let size { describe(size, &writer) } else { writer.null() }
            writer.member("server")
            if let server = storage.server { describe(server, &writer) } else { writer.null() }
            writer.member("cache")
            cache.statistics.write(to: &writer)
            writer.member("repositories", objects: catalogue.all) { writer, record in
                writer.member("name", record.name)
                writer.member("key", record.key)
            }
            addMembers(&writer)
        }
    }

    private func describeWork(_ writer: inout JSONWriter) {
        writer.member("in_flight", UInt64(queue.inFlight))
        writer.member("queue") { writer in
            writer.member("waiting", UInt64(queue.waitingCount))
            writer.member("max_in_flight", UInt64(options.maxInFlight))
        }
        let open = snapshots.describe()
        writer.member("snapshots", UInt64(open.count { $0.isPinned }))
        writer.member("open_snapshots", objects: open) { writer, snapshot in
            writer.member("sequence", snapshot.sequence)
            writer.member("age_ms", snapshot.ageMilliseconds)
            writer.member("pinned", snapshot.isPinned)
            writer.member("holders", UInt64(snapshot.holders))
            writer.member("names", each: snapshot.owners) { writer, owner in writer.string(owner) }
        }
        writer.member("transactions", UInt64(max(0, openTransactions.load(ordering: .relaxed))))
    }

    private func describe(_ size: StorageSize, _ writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("store_bytes", size.store)
        writer.member("log_bytes", size.writeAheadLog)
        writer.member("free_bytes", size.free)
        writer.endObject()
    }

    private func describe(_ server: ServerStatistics, _ writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("connections", UInt64(server.connections))
        writer.member("round_trips", server.roundTrips)
        writer.member("lag_ms", server.lagMilliseconds)
        writer.member("lost_races", server.lostRaces)
        writer.member("resolved_commits", server.resolvedCommits)
        writer.endObject()
    }
}
