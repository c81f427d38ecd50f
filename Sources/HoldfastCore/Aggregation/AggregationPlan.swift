internal import HoldfastEnvironment
internal import HoldfastQuery

/// A pipeline as it is carried out: what its first stages ask of the repository, which may find it along an index, and the
/// stages behind them.
struct AggregationPlan: Sendable {
    private(set) var filter = Filter.all
    private(set) var sort: [Pipeline.SortField] = []
    private(set) var skip: UInt64 = 0
    private(set) var limit: UInt64?
    /// Which of them asks for the order.
    private(set) var sortPlace: StagePlace?
    /// How many stages the repository's part has taken in, for `explain`.
    let stages: [Pipeline.Stage]
    /// What they look at in the entities' texts.
    let reads: FieldUse
    /// By which the first of them groups, where it is served best in that order.
    let groupPath: Path?

    init(_ pipeline: Pipeline) {
        let stages = Self.withMatchesFirst(pipeline.stages)
        var taken = 0
        loop: for stage in stages {
            switch stage.operation {
            case .match(let filter):
                guard skip == 0, limit == nil else { break loop }
                self.filter = self.filter.and(filter)
            case .sort(let fields):
                guard sort.isEmpty, skip == 0, limit == nil else { break loop }
                sort = fields
                sortPlace = stage.place
            case .skip(let count):
                guard skip + count <= 1 << 53 else { break loop }
                skip += count
                limit = limit.map { $0 > count ? $0 - count : 0 }
            case .limit(let count): limit = min(limit ?? .max, count)
            default: break loop
            }
            taken += 1
        }
        self.stages = Array(stages.dropFirst(taken))
        reads = Self.reads(self.stages)
        if sort.isEmpty, skip == 0, limit == nil, case .group(let grouping)? = self.stages.first?.operation,
            let names = grouping.path
        {
            groupPath = try? Path(Array(names.joined(separator: [UInt8(ascii: ".")])), what: "pipeline")
        } else {
            groupPath = nil
        }
    }

    /// The same with each `$match` in front of what it does not depend on.
    private static func withMatchesFirst(_ stages: [Pipeline.Stage]) -> [Pipeline.Stage] {
        var result: [Pipeline.Stage] = []
        for stage in stages {
            guard case .match(let filter) = stage.operation else {
                result.append(stage)
                continue
            }
            var place = result.count
            while place > 0, result[place - 1].lets(stage.reads) { place -= 1 }
            if place > 0, case .match(let before) = result[place - 1].operation {
                var reads = stage.reads
                reads.formUnion(result[place - 1].reads)
                result[place - 1] = Pipeline.Stage(
                    place: result[place - 1].place, operation: .match(before.and(filter)), reads: reads)
            } else {
                result.insert(stage, at: place)
            }
        }
        return result
    }

    /// What the stages look at of the documents that come to the first.
    private static func reads(_ stages: [Pipeline.Stage]) -> FieldUse {
        var use = FieldUse.nothing
        for stage in stages {
            use.formUnion(stage.reads)
            if stage.passesNothingOn { return use }
        }
        return .all
    }
}

extension Pipeline.Stage {
    /// Whether a filter may as well be asked before the stage.
    fileprivate func lets(_ reads: FieldUse) -> Bool {
        guard let names = reads.names else { return false }
        switch operation {
        case .sort, .matchExpression: return true
        case .project(let projector): return names.allSatisfy(projector.keeps)
        case .unwind(let unwinding): return names.allSatisfy(unwinding.keeps)
        case .lookup(let lookup): return names.allSatisfy(lookup.target.keeps)
        case .match, .group, .limit, .skip, .count, .replaceRoot: return false
        }
    }

    /// Whether nothing of a document goes on but what the stage looks at.
    fileprivate var passesNothingOn: Bool {
        switch operation {
        case .group, .count, .replaceRoot: true
        case .project(let projector): projector.mode == .choose
        default: false
        }
    }
}
