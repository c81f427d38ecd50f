public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment

/// The host's interest in one commit, future, subscription or stream: its callback and user data.
class HostObserver: UserData, CommitObserver, FutureObserver, StreamObserver, @unchecked Sendable {
    // Sendable: immutable; the callback's documentation names the thread that calls it.
    private let callback: hf_event_fn?

    init(_ callback: hf_event_fn?, _ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?) {
        self.callback = callback
        super.init(pointer, destructor)
    }

    func committed(_ outcome: CommitOutcome) {
        call { makeEvent(outcome) }
        end()
    }

    func completed(_ completion: Completion) {
        call { makeEvent(completion) }
        if completion.kind == .end { end() }
    }

    func received(_ event: StreamEvent) {
        call { makeEvent(event) }
        if event.isEnd { end() }
    }

    func cancelled() { end() }

    /// On the callback thread: calls the host, then frees what was made for the call.
    private func call(_ event: () -> hf_event) {
        guard let callback else { return }
        var event = event()
        _ = isSameProcess { run(callback) { callback(&event, pointer) } }
        free(&event)
    }

    /// An event for the host to take: it owns everything, with the last of an observer's the user data too.
    static func handOver(_ event: Event) -> hf_event {
        // Every observer of a store that was opened here is the host's.
        switch event {
        case .commit(let commit, let observer):
            let observer = unsafeDowncast(observer, to: HostObserver.self)
            var made = observer.makeEvent(commit.outcome!)
            made.free_user_data = observer.takeDestructor()
            return made
        case .completion(let completion):
            let observer = unsafeDowncast(completion.observer, to: HostObserver.self)
            var made = observer.makeEvent(completion)
            if completion.kind == .end { made.free_user_data = observer.takeDestructor() }
            return made
        case .streamTaken(let observer, let event):
            let observer = unsafeDowncast(observer, to: HostObserver.self)
            var made = observer.makeEvent(event)
            if event.isEnd { made.free_user_data = observer.takeDestructor() }
            return made
        // Made into others before events are handed over.
        case .members, .stream: return hf_event()
        }
    }

    private func makeEvent(_ outcome: CommitOutcome) -> hf_event {
        switch outcome {
        case .success(let receipt): makeEvent(hf_event_kind.HF_EVENT_COMMIT, receipt, nil)
        case .failure(let error): makeEvent(hf_event_kind.HF_EVENT_COMMIT, error)
        }
    }

    private func makeEvent(_ completion: Completion) -> hf_event {
        let kind = completion.kind == .value ? hf_event_kind.HF_EVENT_VALUE : hf_event_kind.HF_EVENT_END
        return switch completion.outcome {
        case .success(let value): makeEvent(kind, value.receipt, value)
        case .failure(let error): makeEvent(kind, error)
        }
    }

    private func makeEvent(_ event: StreamEvent) -> hf_event {
        switch event {
        case .changes(let batch): makeEvent(batch.position, batch.json)
        case .result(let change): makeEvent(change.position, change.json)
        case .lost(let error): makeLost(error)
        case .ended(let error): makeEvent(hf_event_kind.HF_EVENT_END, error)
        case .state: makeEvent(hf_event_kind.HF_EVENT_STATE, hf_status.HF_OK)
        }
    }

    private func makeEvent(_ kind: hf_event_kind, _ receipt: Receipt?, _ value: FutureValue?) -> hf_event {
        var event = makeEvent(kind, hf_status.HF_OK)
        // Without memory the event goes without its texts rather than not at all.
        if let receipt {
            event.sequence = receipt.sequence
            if receipt.sequence > 0 { try? fill(&event.position, with: receipt.positionBytes) }
            try? fill(&event.receipt, with: receipt.json)
        }
        if let value { try? fill(&event.value, nil, with: value) }
        return event
    }

    private func makeEvent(_ position: String, _ changes: [UInt8]) -> hf_event {
        var event = makeEvent(hf_event_kind.HF_EVENT_CHANGES, nil, FutureValue(bytes: changes))
        try? fill(&event.position, with: Array(position.utf8))
        return event
    }

    /// The error's detail has the position, too.
    private func makeLost(_ error: HoldfastError) -> hf_event {
        var event = makeEvent(hf_event_kind.HF_EVENT_CHANGES, error)
        if case .text(let position)? = error.detail.first(where: { $0.0 == "position" })?.1 {
            try? fill(&event.position, with: Array(position.utf8))
        }
        return event
    }

    private func makeEvent(_ kind: hf_event_kind, _ error: HoldfastError) -> hf_event {
        var event = makeEvent(kind, hf_status(error.status))
        event.error = errorHandle(error)
        return event
    }

    private func makeEvent(_ kind: hf_event_kind, _ status: hf_status) -> hf_event {
        var event = hf_event()
        event.kind = kind
        event.status = status
        event.callback = callback
        event.user_data = pointer
        return event
    }
}

@_cdecl("hf_events_free") @implementation
public func hf_events_free(_ events: UnsafeMutablePointer<hf_event>?, _ count: Int) {
    guard let events, count > 0 else { return }
    for index in 0..<count {
        let event = events + index
        free(&event.pointee)
        event.pointee.free_user_data?(event.pointee.user_data)
        event.pointee = hf_event()
    }
}

/// What an event holds besides the user data.
private func free(_ event: inout hf_event) {
    hf_buffer_free(&event.position)
    hf_buffer_free(&event.receipt)
    hf_entity_free(&event.value)
    hf_error_free(event.error)
}

extension StreamEvent {
    fileprivate var isEnd: Bool { if case .ended = self { true } else { false } }
}
