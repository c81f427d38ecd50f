internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

extension CommitLogFollower {
    /// What is wrong with what waits to be followed, or nil:
    ///
    /// 1. Of the items so many were taken, and those hold nothing any more.
    /// 2. `waitingBytes` is what the waiting batches take.
    /// 3. The batches, and the one that is announced last, are in the order of their commits.
    /// 4. Commits are announced while streams are open, and before-images are wanted by no more than those.
    /// 5. Without a worker nothing waits for one.
    ///
    /// `isQuiet`: the worker is between two steps, and will not begin one meanwhile; then what it has followed is looked at too.
    package func violatedInvariant(isQuiet: Bool = false) -> String? {
        state.withLock { state in
            guard (0...state.items.count).contains(state.taken) else { return "follower 1: \(state.taken) were taken" }
            for item in state.items[..<state.taken] {
                guard case .events(let events) = item, events.isEmpty else { return "follower 1: a taken item is kept" }
            }
            var batches = state.items.compactMap { if case .commits(let batch) = $0 { batch } else { nil } }
            let bytes = batches.reduce(0) { $0 + $1.size }
            if state.waitingBytes != bytes { return "follower 2: \(bytes) bytes wait, not \(state.waitingBytes)" }
            if let announced = state.announced { batches.append(announced) }
            var last: CommitSequence = 0
            for batch in batches {
                for sequence in [batch.base] + batch.commits.map(\.entry.sequence) {
                    if sequence < last { return "follower 3: \(sequence) follows \(last)" }
                    last = sequence
                }
            }
            let needs = state.beforeImageNeeds.values
            if isActive.load(ordering: .acquiring) != (state.streams > 0) || needs.contains(where: { $0 < 0 })
                || max(needs.reduce(0, +), state.durableNames.count) > state.streams
            {
                return
                    "follower 4: \(state.streams) streams are open, \(state.durableNames.count) of them durable, and want "
                    + "\(needs.map(\.self))"
            }
            if !state.worker.isStarted && !state.worker.isFinished && !state.items.isEmpty {
                return "follower 5: \(state.items.count) items wait for nobody"
            }
            return isQuiet ? state.followed?.value.violatedInvariant() : nil
        }
    }

    var isAnnounced: Bool { state.withLock { $0.announced != nil } }
}

extension FollowedStreams {
    /// What is wrong between two steps, or nil:
    ///
    /// 1. There is a position while there are streams.
    /// 2. Who is not there yet is told from the commit log.
    /// 3. Who waits is one of the streams, once; a query that is to be read again waits for that.
    /// 4. All that they were told was posted, and what is on its way is counted.
    /// 5. An entity's rows are found where its changes look for them.
    fileprivate func violatedInvariant() -> String? {
        let all = queries.values.flatMap(\.all)
        if isEmpty ? !(waiting.isEmpty && unread.isEmpty) : position == nil {
            return "streams 1: \(observers.count + all.count) are at \(position ?? 0)"
        }
        for observer in observers where observer.sequence < position! && !observer.isBehind {
            return
                "streams 2: an observer is at \(observer.sequence), behind \(position!), and waits for what comes next"
        }
        for (list, name) in [(waiting, "told"), (unread, "read")] {
            let identifiers = Set(list.map(ObjectIdentifier.init))
            if identifiers.count != list.count || !identifiers.isSubset(of: all.map(ObjectIdentifier.init)) {
                return "streams 3: one that is not there, or twice, waits to be \(name)"
            }
        }
        for query in all where query.needsReading && !unread.contains(where: { $0 === query }) {
            return "streams 3: a query is to be read again, and does not wait for it"
        }
        if !events.isEmpty { return "streams 4: \(events.count) events were not posted" }
        for outbox in observers.map(\.outbox) + all.map(\.outbox) {
            if let fault = outbox.violatedInvariant() { return "streams 4: \(fault)" }
        }
        for (repository, group) in queries {
            if let fault = group.violatedInvariant() { return "streams 5: of \(repository) \(fault)" }
        }
        return nil
    }
}

extension StreamOutbox {
    /// What is wrong with what is on its way, or nil: it is no less than what was delivered and still counts, and than what an
    /// observer of the library's has still to be told.
    fileprivate func violatedInvariant() -> String? {
        state.withLock { state in
            let held = state.held.reduce(into: Load()) { sum, load in
                sum.events += load.events
                sum.changes += load.changes
                sum.bytes += load.bytes
            }
            let load = state.load
            if load.events < held.events || load.changes < held.changes || load.bytes < held.bytes {
                return "\(load) is on its way, of which \(held) was delivered"
            }
            if load.events == 0 && (load.changes != 0 || load.bytes != 0) { return "\(load) is on its way in no event" }
            return state.undelivered.count > load.events
                ? "\(state.undelivered.count) of \(load.events) are to be told" : nil
        }
    }
}

extension LiveQueries {
    /// What is wrong, or nil: rows are held exactly by the queries that have them, whose rows are in their order.
    fileprivate func violatedInvariant() -> String? {
        var count = 0
        for query in all {
            let rows = query.rows.rows
            for (before, next) in zip(rows, rows.dropFirst()) where !ResultRows.precedes(before, next, query.rows.order)
            {
                return "\(before.id) does not come before \(next.id)"
            }
            for (id, row) in query.identifiers {
                count += 1
                guard let holder = holders[id]?[query.number], holder.query === query, holder.row === row else {
                    return "\(id) is not found"
                }
            }
        }
        let held = holders.values.reduce(0) { $0 + $1.count }
        return held == count ? nil : "\(held) of \(count) rows are held"
    }
}
