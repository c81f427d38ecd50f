internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The words of the entities of one stretch of a repository: what a build of a text index has read in a snapshot, and adds
/// piece by piece. First the entities get their numbers, then the postings come in the order of their terms, so that each row
/// is written once.
struct TextRun {
    /// Whom the run is of. A posting has its place here, plus one, for a document.
    struct Documents: Sendable {
        fileprivate(set) var entities: [EntityKey] = []
        fileprivate(set) var versions: [CommitSequence] = []
        fileprivate(set) var lengths: [UInt64] = []
        /// In the index; 0 of those that had changed before they got one. There are as many as have been asked for.
        fileprivate(set) var numbers: [UInt64] = []
    }

    private let terms: TextTerms
    private var documents = Documents()
    private let ordered: [Int32]
    /// Which of them comes next, and what of it.
    private var next = 0
    private var passed = 0
    let sequence: CommitSequence
    let last: EntityID?
    private(set) var isLast = true

    /// Reads entities behind `position`.
    init(
        _ index: Index, _ text: TextDefinition, of repository: RepositoryRecord, after position: EntityID?,
        in snapshot: any StorageSnapshot, _ limits: Limits
    ) throws(HoldfastError) {
        sequence = snapshot.sequence
        var terms = TextTerms(text)
        var documents = Documents()
        var (isLast, idBytes) = (true, 0)
        try snapshot.scanAsking(repository.id, after: position) { view throws(HoldfastError) in
            if view.id.isEmpty { throw EntityCheck(repository).refusal(of: view) }
            let id = EntityID(unchecked: Array(view.id))
            let length = try index.length(repository.name, id) { () throws(HoldfastError) in
                try terms.add(view.body, as: UInt32(documents.entities.count + 1))
            }
            try documents.entities.askToGrow()
            documents.entities.append(EntityKey(repository.id, id))
            documents.versions.append(view.version)
            documents.lengths.append(length)
            idBytes += 64 + id.bytes.count
            isLast = terms.byteCount + idBytes < limits.indexRunBytes
            return isLast
        }
        ordered = try terms.ordered()
        last = documents.entities.last?.id
        (self.terms, self.documents, self.isLast) = (terms, documents, isLast)
    }

    var entityCount: Int { documents.entities.count }

    /// How many of the entities' words have been taken, about.
    var progress: Int {
        let all = entityCount + ordered.count
        return all == 0 ? 0 : (documents.numbers.count + next) * entityCount / all
    }

    /// The next entities that get a number, or postings; nil where none is left.
    mutating func takePiece(_ limits: Limits) throws(HoldfastError) -> TextPiece? {
        if documents.numbers.count < entityCount {
            let end = min(entityCount, documents.numbers.count + limits.indexPieceEntries)
            let range = documents.numbers.count..<end
            return .documents(
                Documents(
                    entities: Array(documents.entities[range]), versions: Array(documents.versions[range]),
                    lengths: Array(documents.lengths[range])))
        }
        if next == ordered.count { return nil }
        var edits = PostingEdits()
        var rows = 0
        while next < ordered.count, rows < limits.indexPieceEntries, edits.byteCount < limits.indexPieceBytes {
            let number = ordered[next]
            let term = try terms.withTerm(number) { term throws(HoldfastError) in try edits.addTerm(term) }
            var (size, place) = (0, passed)
            // A closure cannot capture an inout self.
            var taken = edits
            edits = PostingEdits()
            let isOver = try terms.postings(of: number, behind: &place) { place, body throws(HoldfastError) in
                try taken.set(term, place, body)
                size += body.count + 2
                return taken.byteCount < limits.indexPieceBytes
            }
            edits = taken
            passed = isOver ? 0 : place
            if isOver { next += 1 }
            rows += 1 + size / TextRows.blockBytes
        }
        return .postings(edits, documents)
    }

    mutating func note(_ numbers: [UInt64]) { documents.numbers += numbers }
}

/// What a commit adds to a text index that is being built.
enum TextPiece: Sendable {
    /// These entities get numbers, unless they have them. They have none yet here.
    case documents(TextRun.Documents)
    /// Postings of entities that have.
    case postings(PostingEdits, TextRun.Documents)

    var bytes: Int {
        switch self {
        case .documents(let documents): documents.entities.reduce(0) { $0 + $1.id.bytes.count + 16 }
        case .postings(let edits, _): edits.byteCount
        }
    }
}
