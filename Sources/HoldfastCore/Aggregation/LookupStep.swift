internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Looks up, for each document, the entities of another repository that belong to it. The documents of a piece are looked
/// up together: along an index, or by ids, where that is possible; else all entities are read once, and kept.
final class LookupStep: PipelineStep {
    private struct Found {
        let id: EntityID
        let document: JSONValue
    }

    private let place: StagePlace
    private let lookup: Pipeline.Lookup
    private let repository: RepositoryRecord
    private let reader: AggregationReader
    private let memory: MemoryAccount
    private let skipsDamaged: Bool
    private let maxDocuments: Int
    /// What was found, by the values at the path there; kept once all was read.
    private var found: [Found] = []
    private var places: [OrderedKey: [Int]] = [:]
    private var taken = 0
    private var hasAll = false
    /// How the first was looked up, for `explain`.
    private(set) var plan: Plan?
    private(set) var examined: UInt64 = 0
    /// The keys of the queue's first documents, whose entities are known.
    private var waiting: ArraySlice<[OrderedKey]> = []
    private var pace = Interrupt.Pace()

    init(
        _ place: StagePlace, _ lookup: Pipeline.Lookup, _ repository: RepositoryRecord, _ reader: AggregationReader,
        _ memory: MemoryAccount, skipsDamaged: Bool, maxDocuments: Int
    ) {
        self.place = place
        self.lookup = lookup
        self.repository = repository
        self.reader = reader
        self.memory = memory
        self.skipsDamaged = skipsDamaged
        self.maxDocuments = maxDocuments
    }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) throws(HoldfastError) {
        if waiting.isEmpty { waiting = try readNext(documents)[...] }
        var bytes = 0
        while bytes < reader.limits.pieceBytes, let keys = waiting.popFirst() {
            try pace.look()
            let document = documents.first
            documents.removeFirst()
            let indexes = keys.count == 1 ? places[keys[0]] ?? [] : Set(keys.flatMap { places[$0] ?? [] }).sorted()
            try Memory.ask(for: indexes.count * MemoryLayout<JSONValue>.stride)
            let made = lookup.target.place(.array(indexes.map { found[$0].document }), in: document)
            bytes += try place.requireExtent(of: made)
            out.append(made)
        }
        if documents.isEmpty { documents.removeAll() }
    }

    /// Reads the entities of the first documents, and answers the keys of each.
    private func readNext(_ documents: DocumentQueue) throws(HoldfastError) -> [[OrderedKey]] {
        // Documents with lists of values may have more than an index is asked for at once.
        var piece: [[OrderedKey]] = []
        var wanted: [OrderedKey: JSONValue] = [:]
        let most = reader.limits.planRanges
        for document in documents.all.prefix(maxDocuments) {
            if !piece.isEmpty, wanted.count >= most { break }
            try pace.look()
            let values = lookup.local.values(in: document)
            var keys: [OrderedKey] = []
            for value in values {
                var key = OrderedKey()
                key.append(value)
                keys.append(key)
            }
            let added = Set(keys).count { wanted[$0] == nil }
            if !piece.isEmpty, wanted.count + added > most { break }
            for (key, value) in zip(keys, values) { wanted[key] = value }
            piece.append(keys)
        }
        if !hasAll { try read(Array(wanted.values)) }
        return piece
    }

    func finish(_ out: inout [JSONValue]) -> Bool {
        forget()
        return false
    }

    // MARK: The other repository

    private func forget() {
        found = []
        places = [:]
        memory.giveBack(taken)
        taken = 0
    }

    /// Reads the entities with one of these values at the path.
    private func read(_ values: [JSONValue]) throws(HoldfastError) {
        forget()
        let among = Filter(among: values, at: lookup.foreign)
        var scan = try walk(QueryScan(among, skipsDamaged: skipsDamaged)) { plan in
            // Nothing would keep it from reading all of them again and again.
            plan.parts.contains(where: \.isEverything)
        }
        if scan == nil {
            forget()
            scan = try walk(QueryScan(.all, skipsDamaged: skipsDamaged)) { _ in false }
            hasAll = true
        }
        if plan == nil { plan = scan?.plan }
        examined += UInt64(found.count)
        if !(scan?.plan.isByID ?? false) { try sort() }
    }

    /// Nil where the plan is refused.
    private func walk(_ scan: QueryScan, refusing: (Plan) -> Bool) throws(HoldfastError) -> QueryScan? {
        var isRefused = false
        let walked = try reader.walk(scan, of: repository) { plan in
            isRefused = refusing(plan)
            forget()
        } visit: { view throws(HoldfastError) in
            if isRefused { return false }
            try keep(view)
            return true
        }
        return isRefused ? nil : walked
    }

    private func keep(_ view: EntityView) throws(HoldfastError) {
        let document = try JSONValue(document: view.body, members: nil)
        var keys: Set<OrderedKey> = []
        do throws(CorruptJSON) {
            try lookup.foreign.collectKeys(in: JSONWalker(view.body), &keys)
        } catch { throw HoldfastError(error) }
        let weight = document.memory + view.id.count + keys.reduce(64) { $0 + $1.bytes.count + 64 }
        try memory.take(weight, for: place)
        taken += weight
        try found.askToGrow()
        try places.askToGrow(by: keys.count)
        for key in keys { places[key, default: []].append(found.count) }
        found.append(Found(id: EntityID(unchecked: Array(view.id)), document: document))
    }

    /// By ids, however they were found.
    private func sort() throws(HoldfastError) {
        var order = Array(found.indices)
        try Interrupt.sort(&order) { found[$0].id < found[$1].id }
        var ranks = order
        for (rank, index) in order.enumerated() { ranks[index] = rank }
        found = order.map { found[$0] }
        places = places.mapValues { $0.map { ranks[$0] }.sorted() }
    }
}
