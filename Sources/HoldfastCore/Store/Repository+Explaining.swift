public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// Telling how a query is carried out.
extension Repository {
    /// Runs the query as `find` would, and reports as `hf_repository_explain` describes.
    public func explain(
        _ filter: Filter = .all, _ options: QueryOptions = QueryOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> [UInt8] {
        let query = QueryScan(
            filter, sort: options.sort?.fields ?? [], isLimited: options.limit > 0, skipsDamaged: options.skipsDamaged)
        var matched: UInt64 = 0
        var endsEarly = false
        let scan = try scan(query, in: transaction) { plan in
            matched = 0
            endsEarly = options.limit > 0 && (options.sort == nil || plan.isSorted)
        } visit: { _ in
            matched += 1
            return !endsEarly || matched < options.skip + options.limit
        }
        return JSONWriter.object { writer in
            writer.member("access")
            let isPointRead = filter.idEquality(key: record.key) != nil
            let isByID = isPointRead || scan.plan.index == nil && !scan.plan.isEverything
            writer.string(scan.plan.index != nil ? "index" : isByID ? "id" : "scan")
            writer.member("index")
            if let index = scan.plan.index { writer.string(index.record.name) } else { writer.null() }
            writer.member("bounds") { writer in
                for (path, tests) in scan.plan.bounds {
                    writer.member(path.text) { writer in
                        for test in tests { test.write(to: &writer) }
                    }
                }
            }
            writer.member("exact", !isPointRead && scan.plan.isExact)
            writer.member("sort")
            if options.sort == nil {
                writer.null()
            } else {
                writer.string(!scan.plan.isSorted ? "memory" : scan.plan.index == nil ? "id" : "index")
            }
            writer.member("examined", scan.examined)
            writer.member("matched", matched)
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
