internal import HoldfastEnvironment
internal import HoldfastStorage

/// The live aggregations among a store's streams. They are served at the end of each step, so that commits that come
/// together are one reason to carry a pipeline out.
extension FollowedStreams {
    func add(_ aggregation: LiveAggregation) {
        let position = begin(at: aggregation.sequence)
        aggregations.append(aggregation)
        events.append(aggregation.outbox.notice(.result(aggregation.result())))
        // Between its reading and now something may have been committed that was followed already.
        if aggregation.sequence < position { aggregation.touch() }
    }

    func serveAggregations() {
        for aggregation in aggregations where aggregation.isTouched {
            let limit = limits.liveQueryEvents
            if aggregation.outbox.load(awaitedIf: { $0.events >= limit }).events < limit { tell(aggregation) }
        }
    }

    /// Where it cannot be read just now, it stays touched, and is read later.
    func tell(_ aggregation: LiveAggregation) {
        do throws(HoldfastError) {
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            if try aggregation.read(from: snapshot) {
                events.append(aggregation.outbox.notice(.result(aggregation.result())))
            }
            aggregation.settle()
        } catch {
            switch error.status {
            case .corrupt, .invalidQuery, .noMemory:
                events.append(aggregation.outbox.notice(.ended(error)))
                remove(aggregation.outbox)
            default: break
            }
        }
    }
}
