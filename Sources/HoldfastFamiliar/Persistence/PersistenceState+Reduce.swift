extension PersistenceState {
    /// Changes what the action says, and nothing outside. Each lane follows what was begun last.
    mutating func reduce(_ action: PersistenceAction<Element, PersistenceError, Request>) {
        guard let token = action.token ?? requestRuns.latest else { return }
        switch action.kind {
        case .save:
            saveRuns.begin(token, .processing)
            persist = .processing
        case .delete:
            deleteRuns.begin(token, .processing)
            delete = .processing
        case .request:
            requestRuns.begin(token, .loading)
            request = .loading
            unreadable[token] = nil
        // What comes of it tells whether it came in time.
        case .cancelSave, .cancelDelete: break
        case .cancelRequest:
            guard let run = requestRuns.run(of: token) else { return }
            endRequest(token, run, .canceled)
        case .saved(let element, let run): endSave(token, run, .succeeded(element))
        case .saveFailed(let error, let element, let run):
            endSave(token, run, .failed(error: error, element: element))
        case .deleted(let element, let run): endDelete(token, run, .succeeded(element))
        case .deleteFailed(let error, let element, let run):
            endDelete(token, run, .failed(error: error, element: element))
        case .received(let result, let run):
            let state = RequestState.received(result.elements)
            guard requestRuns.update(token, run: run, state) else { return }
            if token == requestRuns.latest { request = state }
            unreadable[token] = result.unreadable.isEmpty ? nil : result.unreadable
        case .requestFailed(let error, let request, let run):
            endRequest(token, run, .failed(error: error, request: request))
        case .requestFinished(let run): _ = requestRuns.end(token, run: run)
        }
    }

    private mutating func endRequest(_ token: PersistenceToken, _ run: UInt64, _ state: RequestState) {
        guard requestRuns.end(token, run: run, state) else { return }
        if token == requestRuns.latest { request = state }
        unreadable[token] = nil
    }

    private mutating func endSave(_ token: PersistenceToken, _ run: UInt64, _ state: ProcessState) {
        if saveRuns.end(token, run: run, state), token == saveRuns.latest { persist = state }
    }

    private mutating func endDelete(_ token: PersistenceToken, _ run: UInt64, _ state: ProcessState) {
        if deleteRuns.end(token, run: run, state), token == deleteRuns.latest { delete = state }
    }
}
