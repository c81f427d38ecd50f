internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Carries a pipeline out: reads a piece of documents, and takes it through the stages, the last that has any first, so that
/// little is on its way at once. It recurses nowhere: pipelines are long, and stacks may be small.
struct PipelineRun {
    let plan: AggregationPlan
    private let repository: RepositoryRecord
    private let options: AggregationOptions
    private let reader: AggregationReader
    let memory: MemoryAccount
    private(set) var source: AggregationSource
    private(set) var steps: [any PipelineStep] = []
    private(set) var returned: UInt64 = 0
    private var writer = JSONWriter()

    init(
        _ repository: RepositoryRecord, _ plan: AggregationPlan, _ options: AggregationOptions,
        _ reader: AggregationReader
    ) {
        self.repository = repository
        self.plan = plan
        self.options = options
        self.reader = reader
        memory = MemoryAccount(limit: options.maxMemoryBytes)
        source = AggregationSource(repository, plan, reader, skipsDamaged: options.skipsDamaged, memory)
    }

    /// What was answered, as a JSON array.
    var json: [UInt8] { writer.bytes }

    mutating func run() throws(HoldfastError) {
        writer.beginArray()
        var pace = Interrupt.Pace()
        if !source.isFinished || !plan.stages.isEmpty {
            // Which order it comes in is known with the first piece.
            var piece = source.isFinished ? AggregationSource.Piece() : try source.read()
            begin()
            var queues = [DocumentQueue](repeating: DocumentQueue(), count: steps.count)
            try take(piece, &queues)
            var finished = 0
            while true {
                try pace.look()
                var out: [JSONValue] = []
                let place: Int
                if let busy = queues.lastIndex(where: { !$0.isEmpty }) {
                    place = busy
                    try steps[place].take(&queues[place], &out)
                    if steps[place].isSatisfied {
                        // What comes before has nobody left to work for.
                        for index in 0...place { queues[index].removeAll() }
                        finished = max(finished, place + 1)
                    }
                } else if finished == 0, !source.isFinished {
                    piece = try source.read()
                    try take(piece, &queues)
                    continue
                } else if finished < steps.count {
                    place = finished
                    if try !steps[place].finish(&out) { finished += 1 }
                } else {
                    break
                }
                if place + 1 < steps.count { queues[place + 1].put(out) } else { try answer(out) }
            }
        }
        writer.endArray()
    }

    private mutating func take(
        _ piece: AggregationSource.Piece, _ queues: inout [DocumentQueue]
    ) throws(HoldfastError) {
        if steps.isEmpty {
            guard piece.count > 0 else { return }
            try Memory.ask(for: writer.bytes.count + piece.texts.count)
            writer.raw(piece.texts)
            returned += piece.count
        } else {
            queues[0].put(piece.documents)
        }
    }

    private mutating func answer(_ documents: [JSONValue]) throws(HoldfastError) {
        var pace = Interrupt.Pace()
        for document in documents {
            try pace.look()
            try Memory.ask(for: 2 * document.memory)
            if writer.bytes.count > writer.bytes.capacity / 2 { try Memory.ask(for: 2 * writer.bytes.count) }
            writer.value(document)
        }
        returned += UInt64(documents.count)
    }

    // MARK: Steps

    private mutating func begin() {
        let maxDocuments = reader.limits.pieceDocuments
        for (index, stage) in plan.stages.enumerated() {
            steps.append(step(stage, behind: plan.stages[(index + 1)...], isFirst: index == 0, maxDocuments))
        }
    }

    private func step(
        _ stage: Pipeline.Stage, behind: ArraySlice<Pipeline.Stage>, isFirst: Bool, _ maxDocuments: Int
    ) -> any PipelineStep {
        let place = stage.place
        let maxBytes = reader.limits.pieceBytes
        let maxDepth = options.maxDepth
        switch stage.operation {
        case .match(let filter):
            let text = DocumentText(stage.reads)
            return EachStep(place, maxBytes) { document throws(HoldfastError) in
                try text.with(document) { text throws(HoldfastError) in try filter.matches(text) } ? (document, 0) : nil
            }
        case .matchExpression(let expression):
            return EachStep(place, maxBytes) { document throws(HoldfastError) in
                try expression.holds(for: document) ? (document, 0) : nil
            }
        case .project(let projector):
            return EachStep(place, maxBytes) { document throws(HoldfastError) in
                let made = try projector.apply(document)
                return (made, try place.requireExtent(of: made, maxDepth))
            }
        case .replaceRoot(let expression):
            return EachStep(place, maxBytes) { document throws(HoldfastError) in
                let made = try expression.evaluate(document)
                guard let root = made, case .object = root else {
                    throw place.refusal(
                        "takes an expression that makes an object, and this has made \(made?.typeInWords ?? "nothing"): "
                            + "choose by \"$match\" or \"$ifNull\"")
                }
                return (root, try place.requireExtent(of: root, maxDepth))
            }
        case .group(let grouping):
            return GroupStep(
                place, grouping, comesGrouped: isFirst && source.isGrouped, options, memory, maxDocuments: maxDocuments)
        case .sort(let fields):
            return SortStep(
                place, fields, reads: stage.reads, keeping: Self.wanted(of: behind), memory, maxDocuments: maxDocuments)
        case .limit(let count): return LimitStep(count)
        case .skip(let count): return SkipStep(count)
        case .unwind(let unwinding): return UnwindStep(place, unwinding, options, maxDocuments: maxDocuments)
        case .count(let name): return CountStep(name: name)
        case .lookup(let lookup):
            return LookupStep(
                place, lookup, reader.repositories[lookup.from]!, reader, options, memory,
                maxDocuments: maxDocuments)
        }
    }

    /// How many documents the stages want, as `$skip` and `$limit` at their beginning tell.
    private static func wanted(of stages: ArraySlice<Pipeline.Stage>) -> Int {
        var skipped: UInt64 = 0
        for stage in stages {
            switch stage.operation {
            case .skip(let count): skipped = min(skipped + count, 1 << 53)
            case .limit(let count): return Int(clamping: skipped + count)
            default: return Int.max / 4
            }
        }
        return Int.max / 4
    }
}

extension StagePlace {
    /// Answers how long the document is, about, as JSON, unless it is longer or nested deeper than is allowed.
    @discardableResult
    func requireExtent(of document: JSONValue, _ maxDepth: Int) throws(HoldfastError) -> Int {
        var walk = ExtentWalk(left: Pipeline.maxExtent)
        switch try walk.excess(of: document, beyond: maxDepth) {
        case nil: return Pipeline.maxExtent - walk.left
        case .length?:
            throw refusal(
                "makes a document of more than \(Pipeline.maxExtent) bytes, which is not allowed: leave members out that "
                    + "nothing needs")
        case .depth?:
            throw refusal(
                "makes a document with more than \(maxDepth) arrays and objects in each other, which is not allowed: nest "
                    + "less deep, or raise the option \"\(AggregationOptions.depthOption)\", of at most "
                    + "\(Pipeline.maxDepth)", option: AggregationOptions.depthOption, limit: maxDepth)
        }
    }
}

// MARK: Explaining

extension PipelineRun {
    func report(nanoseconds: UInt64) -> [UInt8] {
        JSONWriter.object { writer in
            source.scan.plan.write(to: &writer)
            writer.member("exact", source.scan.plan.isExact)
            writer.member("sort")
            if plan.sort.isEmpty {
                writer.null()
            } else {
                writer.string(!source.scan.plan.isSorted ? "memory" : source.scan.plan.isByID ? "id" : "index")
            }
            writer.member("examined", source.scan.examined)
            writer.member("matched", source.matched)
            writer.member("stages", objects: zip(plan.stages, steps)) { writer, stage in
                writer.member("stage", stage.0.place.name)
                writer.member("number", UInt64(stage.0.place.number))
                if let group = stage.1 as? GroupStep {
                    writer.member(
                        "group", !group.comesGrouped ? "memory" : source.scan.plan.isByID ? "id" : "index")
                }
                if let lookup = stage.1 as? LookupStep, let plan = lookup.plan {
                    // What it looks up differs from piece to piece, and can be much.
                    plan.write(to: &writer, showsBounds: false)
                    writer.member("examined", lookup.examined)
                }
            }
            writer.outcome(returned: returned, memory: memory.peak, nanoseconds: nanoseconds)
        }
    }
}
