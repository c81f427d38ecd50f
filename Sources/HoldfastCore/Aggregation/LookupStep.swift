internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Looks up, for each document, the entities of another repository that belong to it. The documents of a piece are looked
/// up together: along an index, or by ids, where that is possible; else all entities are read once. What was found is kept as
/// long as there is memory for it, so that what many documents lead to is read once.
final class LookupStep: PipelineStep {
    private struct Found {
        let id: EntityID
        let document: JSONValue
    }

    private let place: StagePlace
    private let lookup: Pipeline.Lookup
    private let repository: RepositoryRecord
    private let reader: AggregationReader
    private let options: AggregationOptions
    private let memory: MemoryAccount
    private let maxDocuments: Int
    /// What was found, each entity once.
    private var found: [Found] = []
    private var numbers: [EntityID: Int] = [:]
    /// By the values that were looked up, in the order of the ids; by all that there are, where all was read.
    private var places: [OrderedKey: [Int]] = [:]
    private var taken = 0
    private var hasAll = false
    private var isReading = false
    /// How the first was looked up, for `explain`.
    private(set) var plan: Plan?
    private(set) var examined: UInt64 = 0
    /// The keys of the queue's first documents, whose entities are known.
    private var waiting: ArraySlice<[OrderedKey]> = []
    private var pace = Interrupt.Pace()

    init(
        _ place: StagePlace, _ lookup: Pipeline.Lookup, _ repository: RepositoryRecord, _ reader: AggregationReader,
        _ options: AggregationOptions, _ memory: MemoryAccount, maxDocuments: Int
    ) {
        self.place = place
        self.lookup = lookup
        self.repository = repository
        self.reader = reader
        self.options = options
        self.memory = memory
        self.maxDocuments = maxDocuments
        memory.lend { [weak self] in self?.giveUp() }
    }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) throws(HoldfastError) {
        if waiting.isEmpty { waiting = try readNext(documents)[...] }
        var bytes = 0
        while bytes < reader.limits.pieceBytes, let keys = waiting.popFirst() {
            try pace.look()
            let document = documents.first
            documents.removeFirst()
            let indexes = keys.count == 1 ? places[keys[0]] ?? [] : try places(of: keys)
            try Memory.ask(for: indexes.count * MemoryLayout<JSONValue>.stride)
            let made = lookup.target.place(.array(indexes.map { found[$0].document }), in: document)
            bytes += try place.requireExtent(of: made, options.maxDepth)
            out.append(made)
        }
        if documents.isEmpty { documents.removeAll() }
    }

    func finish(_ out: inout [JSONValue]) -> Bool {
        forget()
        return false
    }

    /// Reads the entities of the first documents, as far as they are not known, and answers the keys of each.
    private func readNext(_ documents: DocumentQueue) throws(HoldfastError) -> [[OrderedKey]] {
        // Documents with lists of values may have more than an index is asked for at once.
        var piece: [[OrderedKey]] = []
        var wanted: [OrderedKey: JSONValue] = [:]
        var missing = 0
        let most = reader.limits.planRanges
        for document in documents.all.prefix(maxDocuments) {
            if !piece.isEmpty, missing >= most { break }
            try pace.look()
            let values = lookup.local.values(in: document)
            var keys: [OrderedKey] = []
            for value in values {
                var key = OrderedKey()
                key.append(value)
                keys.append(key)
            }
            let added = Set(keys).count { wanted[$0] == nil && places[$0] == nil }
            if !piece.isEmpty, missing + added > most { break }
            missing += added
            for (key, value) in zip(keys, values) { wanted[key] = value }
            piece.append(keys)
        }
        if missing > 0, !hasAll { try read(wanted) }
        return piece
    }

    /// Of all that several values lead to.
    private func places(of keys: [OrderedKey]) throws(HoldfastError) -> [Int] {
        var all = Array(Set(keys.flatMap { places[$0] ?? [] }))
        try sort(&all)
        return all
    }

    private func sort(_ numbers: inout [Int]) throws(HoldfastError) {
        let found = found
        try Interrupt.sort(&numbers) { found[$0].id < found[$1].id }
    }

    // MARK: The other repository

    private func forget() {
        found = []
        numbers = [:]
        places = [:]
        memory.giveBack(taken)
        taken = 0
    }

    /// Others need the memory: what is asked for again is read again. But what is being read is needed, and so is all of a
    /// repository in which nothing could be found again but by reading all of it.
    private func giveUp() {
        guard !isReading, !hasAll else { return }
        forget()
        waiting = []
    }

    /// Reads the entities with one of these values at the path, as far as they are not known.
    private func read(_ wanted: [OrderedKey: JSONValue]) throws(HoldfastError) {
        isReading = true
        defer { isReading = false }
        if !places.isEmpty {
            if try read(beside: wanted.filter { places[$0.key] == nil }) { return }
            // There is no memory for both.
            forget()
        }
        if try read(beside: wanted) { return }
        forget()
        hasAll = true
        var isFull = false
        plan = try reader.walk(QueryScan(.all, skipsDamaged: options.skipsDamaged), of: repository) { _ in
            forget()
        } visit: { view throws(HoldfastError) in
            try keep(view, nil, mayFail: false, &isFull)
            return true
        }.plan
    }

    /// Reads them beside those that are known already. Answers false where there is no memory for both; where nothing is known,
    /// when all entities would be read again and again.
    private func read(beside wanted: [OrderedKey: JSONValue]) throws(HoldfastError) -> Bool {
        let known = found.count
        let isFirst = places.isEmpty
        var isRefused = false
        let among = Filter(among: Array(wanted.values), at: lookup.foreign)
        let scan = try reader.walk(QueryScan(among, skipsDamaged: options.skipsDamaged), of: repository) { plan in
            if isFirst {
                forget()
                isRefused = plan.parts.contains(where: \.isEverything)
            } else {
                // What was found on a snapshot that was taken back is not known.
                isRefused = found.count > known
            }
        } visit: { view throws(HoldfastError) in
            if !isRefused { try keep(view, wanted, mayFail: !isFirst, &isRefused) }
            return !isRefused
        }
        if isRefused { return false }
        // Of some there are none.
        for key in wanted.keys {
            try pace.look()
            if places[key] == nil {
                guard try take(key.bytes.count + 64, mayFail: !isFirst) else { return false }
                try places.askToGrow()
                places[key] = []
            } else if !scan.plan.isByID {
                try sort(&places[key]!)
            }
        }
        if plan == nil { plan = scan.plan }
        return true
    }

    /// Keeps an entity, found for one of these values; nil stands for all. `isFull`: there is no memory beside what is known.
    private func keep(
        _ view: EntityView, _ wanted: [OrderedKey: JSONValue]?, mayFail: Bool, _ isFull: inout Bool
    ) throws(HoldfastError) {
        examined += 1
        var keys: Set<OrderedKey> = []
        do throws(CorruptJSON) {
            try lookup.foreign.collectKeys(in: JSONWalker(view.body), &keys)
        } catch { throw HoldfastError(error) }
        if let wanted { keys = keys.filter { wanted[$0] != nil } }
        let id = EntityID(unchecked: Array(view.id))
        var weight = keys.reduce(0) { $0 + MemoryLayout<Int>.stride + (places[$1] == nil ? $1.bytes.count + 64 : 0) }
        let number = numbers[id] ?? found.count
        var document: JSONValue?
        if number == found.count {
            try Memory.ask(for: 8 * view.body.count)
            let read = try JSONValue(document: view.body, members: nil)
            weight += read.memory + 2 * view.id.count + 128
            document = read
        }
        guard try take(weight, mayFail: mayFail) else {
            isFull = true
            return
        }
        try found.askToGrow()
        try numbers.askToGrow()
        try places.askToGrow(by: keys.count)
        if let document {
            numbers[id] = number
            found.append(Found(id: id, document: document))
        }
        for key in keys { places[key, default: []].append(number) }
    }

    private func take(_ bytes: Int, mayFail: Bool) throws(HoldfastError) -> Bool {
        if mayFail, bytes > memory.limit - memory.used { return false }
        try memory.take(bytes, for: place)
        taken += bytes
        return true
    }
}
