internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// An aggregation whose documents follow the commits: they are made anew when those have changed something that it reads.
/// Confined to the follower once it is attached.
final class LiveAggregation {
    let outbox: StreamOutbox
    private let repository: RepositoryRecord
    private let plan: AggregationPlan
    private let options: AggregationOptions
    private let repositories: [String: RepositoryRecord]
    private let incarnation: String
    private let limits: Limits
    /// Those whose changes concern it.
    private let concerned: Set<RepositoryID>
    /// The documents as they were made last.
    private var json: [UInt8]?
    /// The commit as of which they were.
    private(set) var sequence: CommitSequence = 0
    /// How many commits have come since something was told that may concern it.
    private var touches = 0

    init(
        _ repository: RepositoryRecord, _ plan: AggregationPlan, _ options: AggregationOptions,
        _ repositories: [String: RepositoryRecord], _ outbox: StreamOutbox, incarnation: String, _ limits: Limits
    ) {
        self.repository = repository
        self.plan = plan
        self.options = options
        self.repositories = repositories
        self.outbox = outbox
        self.incarnation = incarnation
        self.limits = limits
        concerned = Set(repositories.values.map(\.id)).union([repository.id])
    }

    /// Whether it has to be made anew.
    var isTouched: Bool { touches > 0 }

    /// A commit has changed entities of these repositories.
    func follow(_ changes: some Sequence<EntityKey>, at sequence: CommitSequence) {
        if sequence > self.sequence, changes.contains(where: { concerned.contains($0.repository) }) { touches += 1 }
    }

    /// It is not known what was committed.
    func touch() { touches += 1 }

    /// Makes the documents anew, and answers whether they are others now.
    func read(from snapshot: any StorageSnapshot) throws(HoldfastError) -> Bool {
        let reader = AggregationReader(state: .snapshot(snapshot), repositories: repositories, limits: limits)
        var run = PipelineRun(repository, plan, options, reader)
        try run.run()
        sequence = snapshot.sequence
        defer { json = run.json }
        return json != run.json
    }

    /// The documents, to be told.
    func result() -> ResultChange {
        var change = ResultChange(position: StreamPosition.text(incarnation, sequence))
        change.documents = json
        change.merged = touches
        return change
    }

    /// All that has come so far is told, or nothing to tell.
    func settle() { touches = 0 }
}
