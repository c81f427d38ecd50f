internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Reads, in pieces, the documents that go through a pipeline: what its first stages ask of the repository.
struct AggregationSource {
    /// A piece: texts where there are no stages behind, so that what is answered keeps its bytes.
    struct Piece {
        var documents: [JSONValue] = []
        var texts: [UInt8] = []
        var count: UInt64 = 0
        fileprivate var bytes = 0
    }

    private let repository: RepositoryRecord
    private let reader: AggregationReader
    private let plan: AggregationPlan
    private let order: SortOrder?
    private let names: [[UInt8]]?
    private let maxBytes: Int
    private let maxDocuments: Int
    private let memory: MemoryAccount
    private(set) var scan: QueryScan
    /// What the memory has sorted, where nothing else gives the order; `next` of them were handed out.
    private var sorted: [Sorter.Item]?
    private var next = 0
    private var sortedBytes = 0
    private var toSkip: UInt64
    /// Nil for all.
    private var remaining: UInt64?
    /// How many entities were found.
    private(set) var matched: UInt64 = 0
    private(set) var isFinished = false

    init(
        _ repository: RepositoryRecord, _ plan: AggregationPlan, _ reader: AggregationReader, skipsDamaged: Bool,
        _ memory: MemoryAccount
    ) {
        self.repository = repository
        self.plan = plan
        self.reader = reader
        self.memory = memory
        let limits = reader.limits
        maxBytes = limits.pieceBytes
        maxDocuments = limits.pieceDocuments
        let fields = plan.sort.map { SortOrder.Field(path: $0.path, descending: $0.descending) }
        order = fields.isEmpty ? nil : SortOrder(fields: fields)
        names = plan.stages.isEmpty ? nil : plan.reads.names.map { Array($0) }
        let groupFields = plan.groupPath.map { [SortOrder.Field(path: $0, descending: false)] } ?? []
        scan = QueryScan(
            plan.filter, sort: fields.isEmpty ? groupFields : fields,
            isLimited: plan.limit != nil || !groupFields.isEmpty, skipsDamaged: skipsDamaged,
            // What is sorted in the memory is compared by its text, whatever the stages behind look at.
            wantsBodies: order != nil || names.map { !$0.isEmpty } ?? true)
        toSkip = plan.skip
        remaining = plan.limit
        isFinished = remaining == 0
    }

    /// Whether the documents come in the order of the group's key, each key's together.
    var isGrouped: Bool {
        plan.groupPath != nil && scan.plan.isSorted && scan.plan.parts.allSatisfy { $0.index?.hasArrays != true }
    }

    mutating func read() throws(HoldfastError) -> Piece {
        if sorted == nil { return try walk() }
        return try readSorted()
    }

    // MARK: As it comes

    private mutating func walk() throws(HoldfastError) -> Piece {
        var piece = Piece()
        var sorter: Sorter?
        let (start, skipAtStart, matchedAtStart) = (scan, toSkip, matched)
        var (skipped, found): (UInt64, UInt64) = (0, 0)
        let capacity = plan.limit.map { Int(clamping: $0 + min(plan.skip, 1 << 53)) } ?? Int.max / 4
        let wanted = remaining
        let (order, memory, place) = (order, memory, plan.sortPlace)
        var reading = Reading(names: names, isText: plan.stages.isEmpty)
        let (maxBytes, maxDocuments) = (maxBytes, maxDocuments)
        scan = try reader.walk(start, of: repository) { plan in
            piece = Piece()
            (skipped, found) = (0, 0)
            memory.giveBack(sorter?.bytes ?? 0)
            sorter = plan.isSorted ? nil : order.map { Sorter($0, nil, keeping: capacity) }
        } visit: { view throws(HoldfastError) in
            found += 1
            if sorter != nil {
                let before = sorter!.bytes
                try sorter!.add(view)
                if let place { try memory.change(by: sorter!.bytes - before, for: place) }
                return true
            }
            if skipped < skipAtStart {
                skipped += 1
                return true
            }
            try reading.append(view.body, to: &piece)
            return piece.bytes < maxBytes && piece.count < maxDocuments && wanted.map { piece.count < $0 } ?? true
        }
        toSkip = skipAtStart - skipped
        matched = matchedAtStart + found
        if sorter != nil {
            sorted = try sorter!.finish()
            sortedBytes = sorter!.bytes
            next = Int(clamping: plan.skip)
            return try readSorted()
        }
        if let wanted { remaining = wanted - piece.count }
        isFinished = scan.isFinished || remaining == 0
        return piece
    }

    // MARK: Sorted

    private mutating func readSorted() throws(HoldfastError) -> Piece {
        var piece = Piece()
        var reading = Reading(names: names, isText: plan.stages.isEmpty)
        while let items = sorted, next < items.count, piece.bytes < maxBytes, piece.count < maxDocuments {
            try items[next].withView { view throws(HoldfastError) in try reading.append(view.body, to: &piece) }
            next += 1
        }
        if next >= sorted?.count ?? 0 {
            isFinished = true
            sorted = []
            memory.giveBack(sortedBytes)
            sortedBytes = 0
        }
        return piece
    }

    /// How a text becomes a part of a piece.
    private struct Reading {
        let names: [[UInt8]]?
        let isText: Bool

        mutating func append(_ body: UnsafeRawBufferPointer, to piece: inout Piece) throws(HoldfastError) {
            piece.count += 1
            piece.bytes += body.count
            if isText {
                try piece.texts.askToGrow(by: body.count + 1)
                if piece.count > 1 { piece.texts.append(UInt8(ascii: ",")) }
                piece.texts.append(contentsOf: body)
            } else {
                try piece.documents.askToGrow()
                // As a tree a text takes several times as much.
                try Memory.ask(for: 8 * body.count)
                piece.documents.append(
                    names?.isEmpty ?? false ? .object([]) : try JSONValue(document: body, members: names))
            }
        }
    }
}
