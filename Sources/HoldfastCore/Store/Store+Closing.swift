public import HoldfastEnvironment

extension Store {
    /// Closes the store and waits at most so long (nil: for ever). Answers whether it is closed. From inside a callback
    /// of this store it answers true at once, and the store closes after the callback.
    public func close(timeoutMilliseconds: UInt64?) throws(HoldfastError) -> Bool {
        closing.begin()
        // It may be the call that is asked inside for which this would wait.
        if isOwnThread || isInsideProvider || Interrupt.isAskedInside { return true }
        return try closing.wait(until: timeoutMilliseconds.map(deadline))
    }

    public var isClosed: Bool { closing.hasBegun }

    // MARK: Events

    /// Takes events in queue delivery; nil when the store is closed and all were taken.
    public func takeEvents(limit: Int, timeoutMilliseconds: UInt64?) -> [Event]? {
        let deadline = timeoutMilliseconds.map(deadline)
        var events: [Event]
        repeat {
            guard let taken = delivery.take(limit: limit, deadline: deadline) else { return nil }
            if taken.isEmpty { return [] }
            events = notifyMembers(taken)
            delivery.putBack(events.dropFirst(limit))
            events.removeLast(max(0, events.count - limit))
            events = events.compactMap { isForeign ? nil : takenByHost($0) }
            // The controller's middleware may have forked.
            if isForeign { return [] }
        } while events.isEmpty
        let slots = events.count { $0.holdsSlot }
        if slots > 0 { queue.delivered(slots) }
        return events
    }

    /// Delivers what is for the library itself. Of a stream that was cancelled nothing is taken.
    private func takenByHost(_ event: Event) -> Event? {
        switch event {
        case .stream(let notice) where notice.outbox.isHost:
            return notice.outbox.take(notice).map { .streamTaken($0, notice.event) }
        case .completion(let completion) where completion.observer.isHost: return event
        case .commit(_, let observer) where observer.isHost: return event
        case .stream, .completion, .commit:
            event.deliver { queue.delivered($0) }
            return nil
        case .members, .streamTaken: return event
        }
    }

    /// Tells members of object trees; what that leads to stands in place of their events.
    private func notifyMembers(_ taken: [Event]) -> [Event] {
        var events: [Event] = []
        events.reserveCapacity(taken.count)
        for event in taken {
            if case .members(let commit) = event { commit.notifyMembers(&events) } else { events.append(event) }
        }
        return events
    }

    /// Readable while events wait, in queue delivery; nil in callback delivery.
    public var eventDescriptor: Int32? { delivery.mode == .queue ? delivery.descriptor : nil }

    /// Has who waits for events return without any; if nobody does, the next that would. Safe in a signal handler.
    public func wakeTakers() { delivery.wakeTakers() }

    /// Lets go of events that nobody will take.
    public func dropEvents() { delivery.dropAll() }
}
