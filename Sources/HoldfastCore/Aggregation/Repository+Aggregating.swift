public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// Aggregation: documents made of entities by a pipeline.
extension Repository {
    /// Reads a pipeline for this repository.
    public func pipeline(
        _ text: UnsafeRawBufferPointer, _ options: AggregationOptions
    ) throws(HoldfastError) -> Pipeline {
        try Pipeline.parse(
            text, key: record.key, parameters: options.parameters, maxStages: options.maxStages,
            limits: store.options.limits, text: { () throws(HoldfastError) in try self.textDefinition() })
    }

    /// What the pipeline makes of the entities, as a JSON array.
    public func aggregate(
        _ pipeline: Pipeline, _ options: AggregationOptions = AggregationOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> [UInt8] {
        try run(pipeline, options, in: transaction).json
    }

    /// Runs the pipeline as `aggregate` would, and reports as `hf_repository_explain_aggregate` describes.
    public func explain(
        _ pipeline: Pipeline, _ options: AggregationOptions = AggregationOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> [UInt8] {
        let began = store.environment.time.monotonicNanoseconds()
        let run = try run(pipeline, options, in: transaction)
        return run.report(nanoseconds: store.environment.time.monotonicNanoseconds() &- began)
    }

    private func run(
        _ pipeline: Pipeline, _ options: AggregationOptions, in transaction: Transaction?
    ) throws(HoldfastError) -> PipelineRun {
        try store.requireOpen()
        let plan = AggregationPlan(pipeline)
        let repositories = try repositories(of: plan)
        let limits = store.environment.limits
        func run(_ state: AggregationReader.State) throws(HoldfastError) -> PipelineRun {
            let reader = AggregationReader(state: state, repositories: repositories, limits: limits)
            var run = PipelineRun(record, plan, options, reader)
            try run.run()
            return run
        }
        if let transaction = try checked(transaction) { return try run(.transaction(transaction)) }
        return try store.read { snapshot throws(HoldfastError) in try run(.snapshot(snapshot)) }
    }

    /// Those that things are looked up in, by the names that the pipeline has for them.
    private func repositories(of plan: AggregationPlan) throws(HoldfastError) -> [String: RepositoryRecord] {
        var repositories: [String: RepositoryRecord] = [:]
        for stage in plan.stages {
            guard case .lookup(let lookup) = stage.operation else { continue }
            if store.catalogue.find(lookup.from) == nil { try store.refreshCatalogue() }
            guard let record = store.catalogue.find(lookup.from) else {
                throw stage.place.refusal(
                    "looks things up in \"\(lookup.from)\", and there is no repository of that name: open it first, or "
                        + "correct \"from\"", .notFound, path: "from")
            }
            repositories[lookup.from] = record
        }
        return repositories
    }

    /// Opens a live aggregation: what the pipeline makes first, then again whenever that has changed. Carries it out on
    /// this thread.
    public func openLiveAggregation(
        _ pipeline: Pipeline, _ options: AggregationOptions, _ observer: any StreamObserver
    ) throws(HoldfastError) -> ChangeStream {
        try store.requireOpen()
        let plan = AggregationPlan(pipeline)
        let repositories = try repositories(of: plan)
        let history = try store.follower.begin(nil)
        do throws(HoldfastError) {
            let outbox = store.follower.outbox(observer)
            let aggregation = LiveAggregation(
                record, plan, options, repositories, outbox, incarnation: store.incarnation, store.environment.limits)
            try store.read { snapshot throws(HoldfastError) in _ = try aggregation.read(from: snapshot) }
            store.follower.attach(aggregation, begunIn: history)
            return ChangeStream(store, outbox, nil)
        } catch {
            store.follower.end(nil)
            throw error
        }
    }
}
