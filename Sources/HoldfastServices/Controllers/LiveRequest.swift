internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A request of a controller's that is not over: a live query whose events become actions. It is opened on the store's
/// thread for operations, because that reads.
final class LiveRequest: StreamObserver, FutureObserver, OperationFunction {
    private struct State {
        var isOver = false
        /// Of its opening.
        var future: Future?
        var stream: ChangeStream?
    }

    let token: EntityID
    private let controller: Controller
    private let request: [UInt8]
    private let state = Lock(State())

    init(_ controller: Controller, _ token: EntityID, _ request: [UInt8]) {
        self.controller = controller
        self.token = token
        self.request = request
    }

    var isHost: Bool { false }

    func begin() {
        do throws(HoldfastError) {
            let future = try Operation(controller.repository.store, self).start(observer: self, waitsForSlot: false)
            state.withLock { $0.future = $0.isOver ? nil : future }
        } catch { fail(error) }
    }

    /// When it returns it tells nothing any more.
    func end() {
        let before = state.withLock { state in
            defer { state = State(isOver: true) }
            return state
        }
        // It may have been opened meanwhile, and is then ended by who opened it.
        try? before.future?.cancel()
        before.stream?.cancel()
    }

    // MARK: Opening

    func run(in transaction: Transaction) throws(HoldfastError) -> [UInt8] {
        if state.withLock({ $0.isOver }) { return [] }
        let (filter, options) = try query()
        let stream = try controller.repository.openLiveQuery(filter, options, self)
        let isOver = state.withLock { state in
            if !state.isOver { state.stream = stream }
            return state.isOver
        }
        if isOver { stream.cancel() }
        return []
    }

    /// The request's filter and the options beside it.
    private func query() throws(HoldfastError) -> (Filter, QueryOptions) {
        let repository = controller.repository
        return try request.withBytes { request throws(HoldfastError) in
            var filter: UnsafeRawBufferPointer?
            var options: [JSONValue.Member] = []
            let walker = ItemWalker(request)
            _ = try walker.members(of: walker.start()) { name, value, end throws(HoldfastError) in
                let name = try walker.decode(name)
                let text = walker.walker.bytes(value, end)
                if name.elementsEqual("filter".utf8) {
                    filter = text
                } else {
                    options.append(.init(name: name, value: try JSONValue.parse(text, what: QueryOptions.what)))
                }
            }
            let queryOptions = try QueryOptions(
                OptionReader(members: options, what: QueryOptions.what), key: repository.record.key,
                accepting: [.sort, .skip, .limit, .fields, .damaged])
            return (try repository.filter(filter, queryOptions.parameters), queryOptions)
        }
    }

    /// The opening has ended.
    func completed(_ completion: Completion) {
        state.withLock { $0.future = nil }
        if case .failure(let error) = completion.outcome { fail(error) }
    }

    // MARK: Living

    func received(_ event: StreamEvent) {
        switch event {
        case .result(let change): controller.tell(.received(token, change), from: self)
        case .ended(let error): fail(error)
        case .changes, .lost, .state: break
        }
    }

    private func fail(_ error: HoldfastError) {
        controller.tell(.requestFailed(token, request: request, error: error.json), from: self)
    }
}
