public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// Telling how a query is carried out.
extension Repository {
    /// Runs the query as `find` would, or `distinct`, and reports as `hf_repository_explain` describes.
    public func explain(
        _ filter: Filter = .all, _ options: QueryOptions = QueryOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> [UInt8] {
        try options.check(for: filter)
        let began = store.environment.time.monotonicNanoseconds()
        let query = QueryScan(
            filter, sort: options.sort?.indexFields ?? [], isLimited: options.limit > 0,
            skipsDamaged: options.skipsDamaged, wantsScores: options.wantsScores, distinct: options.distinct)
        let capacity = options.limit == 0 ? Int.max / 4 : Int(options.skip + options.limit)
        var matched: UInt64 = 0
        var sorter: Sorter?
        var values: DistinctValues?
        var memory = 0
        let scan = try scan(query, in: transaction) { plan in
            matched = 0
            sorter = plan.isSorted ? nil : options.sort.map { Sorter($0, plan.ranking, keeping: capacity) }
            values = options.distinct.map { DistinctValues(of: $0) }
            memory = 0
        } visit: { view throws(HoldfastError) in
            matched += 1
            if options.distinct != nil { try values!.collect(from: view) }
            guard sorter != nil else { return options.limit == 0 || matched < options.skip + options.limit }
            try sorter!.add(view)
            memory = max(memory, sorter!.bytes)
            return true
        }
        var found = matched
        if sorter != nil { found = UInt64(try sorter!.finish().count) }
        if let values {
            found = UInt64(values.count)
            memory = values.bytes
        }
        let returned = found > options.skip ? found - options.skip : 0
        let took = store.environment.time.monotonicNanoseconds() &- began
        return JSONWriter.object { writer in
            let isPointRead = !options.wantsScores && filter.idEquality(key: record.key) != nil
            scan.plan.write(to: &writer, isPointRead: isPointRead)
            writer.member("exact", !isPointRead && scan.plan.isExact)
            writer.member("sort")
            if options.sort == nil {
                writer.null()
            } else {
                writer.string(!scan.plan.isSorted ? "memory" : scan.plan.isByID ? "id" : "index")
            }
            writer.member("examined", scan.examined)
            writer.member("matched", matched)
            if options.distinct != nil { writer.member("leaps", scan.leaps) }
            // As a pipeline's stage that no part of the finding is.
            let stages = options.projection == nil ? [] : ["$project"]
            writer.member("stages", objects: stages.enumerated()) { writer, stage in
                writer.member("stage", stage.element)
                writer.member("number", UInt64(stage.offset))
            }
            writer.outcome(returned: returned, memory: memory, nanoseconds: took)
        }
    }
}

extension JSONWriter {
    /// What reports end with.
    mutating func outcome(returned: UInt64, memory: Int, nanoseconds: UInt64) {
        member("returned", returned)
        member("memory", UInt64(clamping: memory))
        member("time_us", nanoseconds / 1000)
    }
}

extension Plan {
    func write(to writer: inout JSONWriter, isPointRead: Bool = false, showsBounds: Bool = true) {
        if parts.count == 1 {
            parts[0].write(to: &writer, isPointRead: isPointRead, showsBounds: showsBounds)
        } else {
            writer.member("access", "alternatives")
            writer.member("alternatives", objects: parts) { writer, part in part.write(to: &writer) }
            writer.member("index")
            writer.null()
            writer.member("bounds") { _ in }
        }
    }
}

extension Plan.Part {
    fileprivate func write(to writer: inout JSONWriter, isPointRead: Bool = false, showsBounds: Bool = true) {
        writer.member("access", index != nil ? "index" : isEverything && !isPointRead ? "scan" : "id")
        writer.member("index")
        if let index { writer.string(index.record.name) } else { writer.null() }
        guard showsBounds else { return }
        writer.member("bounds") { writer in
            for (path, tests) in bounds {
                writer.member(path.text) { writer in
                    for test in tests { test.write(to: &writer) }
                }
            }
            if let search {
                writer.member("$text", each: search.wanted) { writer, word in
                    writer.string(String(decoding: word, as: UTF8.self))
                }
            }
        }
    }
}

extension Filter.Test {
    /// As a member of a condition: those that can bound an index.
    fileprivate func write(to writer: inout JSONWriter) {
        func member(_ name: String, _ value: JSONValue) {
            writer.member(name)
            writer.value(value)
        }
        switch self {
        case .equal(let value): member("$eq", value)
        case .in(let set): member("$in", .array(set.values))
        case .less(let value): member("$lt", value)
        case .lessOrEqual(let value): member("$lte", value)
        case .greater(let value): member("$gt", value)
        case .greaterOrEqual(let value): member("$gte", value)
        case .regex(let pattern): member("$regex", .string(pattern.text))
        default: break
        }
    }
}
