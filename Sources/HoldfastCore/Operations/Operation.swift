public import HoldfastEnvironment
package import HoldfastQuery

/// A transaction described now and run later, as often as wanted: on the caller's thread, or asynchronously. Making one
/// does nothing to the store; each run is a run of its own.
public final class Operation: Sendable {
    enum Work: Sendable {
        /// One call that reads, outside a transaction.
        case read(OperationStep)
        /// One call that only writes: a commit of its own, validated in its batch.
        case write(OperationStep)
        /// Calls that belong together. The results of a sequence are an array.
        case steps([OperationStep], isSequence: Bool)
        case function(any OperationFunction)
    }

    public let store: Store
    let work: Work
    let options: TransactionOptions

    /// One call that only writes, of a repository that is open. `isMissingAllowed`: a deletion of nothing is none that fails.
    package init(
        _ verb: Verb, of repository: Repository, _ id: EntityID? = nil, _ payload: [UInt8] = [],
        isMissingAllowed: Bool = false
    ) {
        store = repository.store
        options = TransactionOptions()
        work = .write(OperationStep(verb, of: repository, id, payload, isMissingAllowed: isMissingAllowed))
    }

    /// Repositories that are open, by the numbers that a description has for them; nil where there is none.
    public typealias Opened = (Int64) throws(HoldfastError) -> Repository?

    /// Reads a description as `operation.h` gives it. `opened`: of this store.
    public init(
        _ store: Store, describedBy json: UnsafeRawBufferPointer, opened: Opened = { _ in nil }
    ) throws(HoldfastError) {
        self.store = store
        // Each entity in it has limits of its own; around it are the members of a step, and the steps.
        let limits = PayloadLimits(maxBytes: .max, maxDepth: store.options.limits.maxDepth + 4)
        try JSONValue.check(json, what: "operation", limits: limits)
        let walker = ItemWalker(json)
        let start = try walker.start()
        guard try walker.kind(at: start) == .object else {
            throw HoldfastError(.invalidOption, "an operation must be a JSON object: a step, or {\"steps\": [...]}")
        }
        if let sequence = try Self.sequence(walker, start, opened) {
            work = .steps(sequence.steps, isSequence: true)
            options = sequence.options
            return
        }
        let step = try OperationStep(walker, at: start, opened, isAlone: true)
        var options = TransactionOptions()
        options.waitsForSlot = step.waitsForSlot
        self.options = options
        work =
            switch step.verb {
            case .modifyAll, .deleteAll: .steps([step], isSequence: false)
            default: step.verb.writes ? .write(step) : .read(step)
            }
    }

    /// Reads `{"steps": [...], ...}`; nil where there are no steps.
    private static func sequence(
        _ walker: ItemWalker, _ start: Int, _ opened: Opened
    ) throws(HoldfastError) -> (steps: [OperationStep], options: TransactionOptions)? {
        var position: Int?
        var others: [(name: [UInt8], text: UnsafeRawBufferPointer)] = []
        _ = try walker.members(of: start) { name, value, end throws(HoldfastError) in
            let name = try walker.decode(name)
            if name.elementsEqual("steps".utf8) {
                position = value
            } else {
                others.append((name, walker.walker.bytes(value, end)))
            }
        }
        guard let position else { return nil }
        guard try walker.kind(at: position) == .array else {
            throw HoldfastError(
                .invalidOption, "\"steps\" of an operation must be an array", detail: [("option", .text("steps"))])
        }
        var steps: [OperationStep] = []
        _ = try walker.elements(of: position) { element, _ throws(HoldfastError) in
            do throws(HoldfastError) {
                steps.append(try OperationStep(walker, at: element, opened))
            } catch { throw error.inBatch(at: steps.count) }
        }
        var members: [JSONValue.Member] = []
        for other in others {
            members.append(.init(name: other.name, value: try JSONValue.parse(other.text, what: "operation")))
        }
        return (
            steps,
            try TransactionOptions(OptionReader(members: members, what: "operation"), allowsAttempts: true)
        )
    }

    public init(_ store: Store, _ function: any OperationFunction, options: TransactionOptions = .init()) {
        self.store = store
        self.options = options
        work = .function(function)
    }

    /// Runs on this thread and waits for the outcome; inside a transaction, as a part of it.
    public func perform(in transaction: Transaction? = nil) throws(HoldfastError) -> FutureValue {
        if let transaction { return try run(partOf: transaction) }
        try store.requireOpen()
        switch work {
        case .read(let step), .write(let step): return try step.run(on: step.open(in: store), in: nil)
        case .steps, .function: return try performInTransaction()
        }
    }

    private func performInTransaction() throws(HoldfastError) -> FutureValue {
        var value = FutureValue(bytes: OperationStep.null)
        let receipt = try store.transact(options) { transaction throws(HoldfastError) in
            value = try run(in: transaction)
        }
        // What this run has made was never stored: the same request was faster.
        if receipt.isReplayed { value = FutureValue(bytes: OperationStep.null) }
        value.receipt = receipt
        return value
    }

    /// Begins a run and answers its future. Throws when the run was not accepted; every other failure is the future's.
    /// When too many are in flight it waits for a slot, never on a thread of the library's.
    ///
    /// `accept` is handed the future before anything runs; when it throws, nothing does. `waitsForSlot`: else it is
    /// refused where none is free.
    public func start(
        in transaction: Transaction? = nil, observer: (any FutureObserver)? = nil, isSubscriber: Bool = false,
        waitsForSlot: Bool = true,
        accept: (Future) throws(HoldfastError) -> Void = { _ in }
    ) throws(HoldfastError) -> Future {
        try store.requireOpen()
        if let transaction { try requireSameStore(transaction) }
        let patience = waitsForSlot && options.waitsForSlot ? options.timeoutMilliseconds : 0
        try store.queue.takeSlot(deadline: store.deadline(inMilliseconds: patience))
        let run = OperationRun(self, in: transaction)
        do throws(HoldfastError) {
            try run.prepare()
            try accept(run.future)
            if let observer { try run.future.observe(observer, isSubscriber: isSubscriber) }
        } catch {
            store.queue.delivered(1)
            // Otherwise it and its run would hold each other for ever.
            run.future.complete(.failure(error))
            throw error
        }
        run.begin()
        return run.future
    }

    // MARK: For its runs

    /// In a transaction of the caller's: all of it, or nothing of it.
    func run(partOf transaction: Transaction) throws(HoldfastError) -> FutureValue {
        try requireSameStore(transaction)
        // One call is all or nothing by itself.
        let scope = isOneCall ? nil : try transaction.beginScope()
        let value: FutureValue
        do throws(HoldfastError) {
            value = try run(in: transaction)
        } catch {
            if let scope { try? transaction.endScope(scope, succeeded: false) }
            // What a function did about a failed write is its own affair, as of any transaction that joins.
            if writes { transaction.noteFailedWrite(error) }
            throw error
        }
        if let scope { try transaction.endScope(scope, succeeded: true) }
        return value
    }

    private var isOneCall: Bool {
        switch work {
        case .read, .write, .steps(_, isSequence: false): true
        case .steps, .function: false
        }
    }

    /// Whether it is one call, or a list of calls, that may write.
    private var writes: Bool {
        switch work {
        case .read, .function: false
        case .write: true
        case .steps(let steps, _): steps.contains(where: \.verb.writes)
        }
    }

    func run(in transaction: Transaction) throws(HoldfastError) -> FutureValue {
        switch work {
        case .read(let step), .write(let step): return try step.run(on: step.open(in: store), in: transaction)
        case .steps(let steps, isSequence: false):
            return try steps[0].run(on: steps[0].open(in: store), in: transaction)
        case .steps(let steps, isSequence: true):
            var results = JSONWriter()
            results.beginArray()
            for (index, step) in steps.enumerated() {
                do throws(HoldfastError) {
                    results.raw(try step.run(on: step.open(in: store), in: transaction).bytes)
                } catch { throw error.status == .conflict ? error : error.inBatch(at: index) }
            }
            results.endArray()
            return FutureValue(bytes: results.bytes)
        case .function(let function): return FutureValue(bytes: try function.run(in: transaction))
        }
    }

    private func requireSameStore(_ transaction: Transaction) throws(HoldfastError) {
        guard transaction.store === store else {
            throw HoldfastError(.invalidArgument, "the transaction belongs to another store than the operation")
        }
    }
}

/// A function of the host's that works inside the transaction of a run, perhaps more than once.
public protocol OperationFunction: AnyObject, Sendable {
    /// Answers the result. Runs on the thread that performs, or on the store's thread for operations.
    func run(in transaction: Transaction) throws(HoldfastError) -> [UInt8]
}
