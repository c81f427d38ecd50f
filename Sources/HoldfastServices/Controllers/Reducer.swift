internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// The reducer: how an action changes a state. It depends on nothing else, and does nothing else.
extension ControllerState {
    /// Answers whether the state is another one now. What has ended is changed by no late outcome.
    @discardableResult
    public mutating func reduce(_ action: ControllerAction) -> Bool {
        switch action {
        case .begin(.save, let id, let element, _): saves.begin(id, ProcessEntry(element: element))
        case .begin(.delete, let id, let element, _): deletes.begin(id, ProcessEntry(element: element))
        // Whether it was in time, the outcome tells.
        case .cancel: return false
        case .succeeded(let process, let id, let element, let version):
            return change(process, id, ProcessEntry(element: element, phase: .succeeded(version: version)))
        case .failed(let process, let id, let element, let error):
            return change(process, id, ProcessEntry(element: element, phase: .failed(error: error)))

        case .request(let token, let request): requests.begin(token, RequestEntry(request: request))
        case .cancelRequest(let token):
            return changeLive(token) { $0.phase = .canceled }
        case .received(let token, let result):
            return changeLive(token) { $0.receive(result) }
        case .requestFailed(let token, let request, let error):
            return changeLive(token) { $0 = RequestEntry(request: request, phase: .failed(error: error)) }
        }
        return true
    }

    /// Two of one id may be under way at once: each tells its outcome.
    private mutating func change(
        _ process: ControllerAction.Process, _ id: EntityID, _ entry: ProcessEntry
    ) -> Bool {
        func replace(_ known: inout ProcessEntry) -> Bool {
            known = entry
            return true
        }
        return process == .save ? saves.change(id, replace) : deletes.change(id, replace)
    }

    private mutating func changeLive(_ token: EntityID, _ body: (inout RequestEntry) -> Void) -> Bool {
        requests.change(token) { entry in
            if entry.hasEnded { return false }
            body(&entry)
            return true
        }
    }

    /// Whether something may still come for this token.
    func isLive(_ token: EntityID) -> Bool { requests[token].map { !$0.hasEnded } ?? false }
}

extension ControllerState.RequestEntry {
    fileprivate mutating func receive(_ result: ResultChange) {
        if let snapshot = result.snapshot {
            phase = .received(position: result.position, elements: snapshot)
            return
        }
        guard case .received(_, var elements) = phase else {
            phase = .failed(error: Self.misfit("there was no result before it").json)
            return
        }
        // So that the elements are this function's alone, and are changed in place.
        phase = .loading
        phase =
            result.apply(to: &elements)
            ? .received(position: result.position, elements: elements)
            : .failed(error: Self.misfit("the result at hand is another").json)
    }

    private static func misfit(_ reason: String) -> HoldfastError {
        HoldfastError(.invalidState, "the change cannot be applied, because \(reason): request it anew")
    }
}

extension HoldfastError {
    /// As the failures of a controller's state hold it.
    var json: [UInt8] {
        JSONWriter.object { writer in
            writer.member("status", status.name.description)
            writer.member("message", message)
            writer.member("retryable", isRetryable)
            writer.member("commit_state")
            switch commitState {
            case .none: writer.string("none")
            case .unknown: writer.string("unknown")
            case .done: writer.string("done")
            }
            writer.member("detail", raw: detailJSON)
        }
    }
}
