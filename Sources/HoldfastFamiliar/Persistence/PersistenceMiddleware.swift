#if canImport(Combine)
    internal import Combine
#else
    internal import OpenCombine
#endif

/// Carries out the actions of a controller, as effects: after the reducer has numbered the run.
final class PersistenceMiddleware<Controller: PersistenceController>: Middleware {
    typealias Action = Controller.Action
    typealias State = Controller.State
    private typealias Output = @Sendable (Action.Kind) -> Void

    private let controller: Controller
    private let requests = Lock<[PersistenceToken: RequestRun<Controller>]>([:])
    /// Of the saves and deletes that have not ended.
    private let withdrawals = Lock<[Process: [UInt64: PersistenceWithdrawal]]>([:])

    /// A token, and of which of the two it is.
    private struct Process: Hashable {
        var token: PersistenceToken
        var isDelete: Bool
    }

    init(controller: Controller) { self.controller = controller }

    deinit {
        for run in requests.withLock({ $0.values }) { run.cancel() }
    }

    func handle(
        action: Action, from dispatcher: ActionSource, state: @escaping GetState<State>
    ) -> IO<Action> {
        // What it means is asked of the old state, in which the request to be cancelled is still the latest.
        guard let token = action.token ?? state().requestRuns.latest else { return .pure() }
        return IO { [self] handler in
            let output: Output = { handler.dispatch(Action($0, token), from: dispatcher) }
            switch action.kind {
            case .save(let element):
                if let run = state().saveRuns.run(of: token) { save(element, token, run, output) }
            case .delete(let element):
                if let run = state().deleteRuns.run(of: token) { delete(element, token, run, output) }
            case .request(let request):
                if let run = state().requestRuns.run(of: token) { begin(request, token, run, output) }
            case .cancelSave: withdraw(Process(token: token, isDelete: false))
            case .cancelDelete: withdraw(Process(token: token, isDelete: true))
            case .cancelRequest: take(token)?.cancel()
            case .received(_, let run): requests.withLock({ $0[token] })?.handled(run)
            case .requestFailed(_, _, let run), .requestFinished(let run): forget(token, run)
            case .saved, .saveFailed, .deleted, .deleteFailed: break
            }
        }
    }

    // MARK: Saves and deletes

    private func save(
        _ element: Controller.Element, _ token: PersistenceToken, _ run: UInt64, _ output: @escaping Output
    ) {
        let process = Process(token: token, isDelete: false)
        let publisher = controller.savePublisher(for: element, withdrawal: withdrawal(of: process, run))
        Self.carryOut(publisher) { [weak self] result in
            self?.forget(process, run)
            switch result {
            case .success(let stored): output(.saved(stored ?? element, run: run))
            case .failure(let error): output(.saveFailed(error, element, run: run))
            }
        }
    }

    private func delete(
        _ element: Controller.Element, _ token: PersistenceToken, _ run: UInt64, _ output: @escaping Output
    ) {
        let process = Process(token: token, isDelete: true)
        let publisher = controller.deletePublisher(for: element, withdrawal: withdrawal(of: process, run))
        Self.carryOut(publisher) { [weak self] result in
            self?.forget(process, run)
            switch result {
            case .success: output(.deleted(element, run: run))
            case .failure(let error): output(.deleteFailed(error, element, run: run))
            }
        }
    }

    /// Tells the end once, with the last value. Whoever goes does not end it: what is being stored is stored.
    private static func carryOut<Value>(
        _ publisher: AnyPublisher<Value, Controller.PersistenceError>,
        _ ended: @escaping (Result<Value?, Controller.PersistenceError>) -> Void
    ) {
        var value: Value?
        publisher.subscribe(
            Subscribers.Sink(
                receiveCompletion: { completion in
                    switch completion {
                    case .finished: ended(.success(value))
                    case .failure(let error): ended(.failure(error))
                    }
                },
                receiveValue: { value = $0 }))
    }

    private func withdrawal(of process: Process, _ run: UInt64) -> PersistenceWithdrawal {
        let withdrawal = PersistenceWithdrawal()
        withdrawals.withLock { $0[process, default: [:]][run] = withdrawal }
        return withdrawal
    }

    private func withdraw(_ process: Process) {
        for withdrawal in withdrawals.withLock({ $0[process] ?? [:] }).values { withdrawal.ask() }
    }

    private func forget(_ process: Process, _ run: UInt64) {
        withdrawals.withLock {
            $0[process]?[run] = nil
            if $0[process]?.isEmpty == true { $0[process] = nil }
        }
    }

    // MARK: Requests

    private func begin(
        _ request: Controller.Request, _ token: PersistenceToken, _ run: UInt64, _ output: @escaping Output
    ) {
        take(token)?.cancel()
        let begun = RequestRun<Controller>(request, run, output)
        requests.withLock { $0[token] = begun }
        controller.requestPublisher(for: request).subscribe(begun)
    }

    private func take(_ token: PersistenceToken) -> RequestRun<Controller>? {
        requests.withLock { $0.removeValue(forKey: token) }
    }

    private func forget(_ token: PersistenceToken, _ run: UInt64) {
        requests.withLock { if $0[token]?.number == run { $0[token] = nil } }
    }
}
