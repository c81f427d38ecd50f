public import CHoldfast
internal import HoldfastCore

/// The host's interest in one commit: its callback and user data.
final class HostObserver: UserData, CommitObserver, @unchecked Sendable {
    // Sendable: immutable; the callback's documentation names the thread that calls it.
    private let callback: hf_event_fn?

    init(_ callback: hf_event_fn?, _ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?) {
        self.callback = callback
        super.init(pointer, destructor)
    }

    /// On the callback thread: calls the host, then frees what was made for the call.
    func committed(_ outcome: CommitOutcome) {
        if let callback {
            var event = makeEvent(outcome)
            _ = isSameProcess { callback(&event, pointer) }
            hf_buffer_free(&event.receipt)
            hf_error_free(event.error)
        }
        end()
    }

    /// For the host to take: the event owns everything, the user data too.
    func handOver(_ outcome: CommitOutcome) -> hf_event {
        var event = makeEvent(outcome)
        event.free_user_data = takeDestructor()
        return event
    }

    private func makeEvent(_ outcome: CommitOutcome) -> hf_event {
        var event = hf_event()
        event.kind = hf_event_kind.HF_EVENT_COMMIT
        event.callback = callback
        event.user_data = pointer
        switch outcome {
        case .success(let receipt):
            event.status = hf_status.HF_OK
            event.sequence = receipt.sequence
            // Without memory the event goes without its receipt rather than not at all.
            try? fill(&event.receipt, with: receipt.json)
        case .failure(let error):
            event.status = hf_status(error.status)
            event.error = errorHandle(error)
        }
        return event
    }
}

@_cdecl("hf_events_free") @implementation
public func hf_events_free(_ events: UnsafeMutablePointer<hf_event>?, _ count: Int) {
    guard let events, count > 0 else { return }
    for index in 0..<count {
        let event = events + index
        hf_buffer_free(&event.pointee.receipt)
        hf_error_free(event.pointee.error)
        event.pointee.free_user_data?(event.pointee.user_data)
        event.pointee = hf_event()
    }
}
