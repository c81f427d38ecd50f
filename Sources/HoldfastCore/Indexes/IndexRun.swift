internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The entries that the entities of one stretch of a repository have in an index, in the order of their keys: what a
/// build has read in a snapshot, and adds piece by piece. Packed, because there are many.
struct IndexRun {
    private struct Entry {
        /// The key's first bytes, as a number that compares as they do.
        var beginning: UInt64
        /// Where the key is, with the id behind it. Of equal keys, that of the smaller id comes first.
        var start: Int
        var keyLength: Int
        var idLength: Int
        var version: CommitSequence
        var number: Int64
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    private var next = 0
    /// The snapshot's.
    private(set) var sequence: CommitSequence
    /// How many entities the run is of, and the last of them.
    private(set) var entityCount = 0
    private(set) var last: EntityID?
    private(set) var hasArrays = false
    /// Whether nothing of the repository is left behind it.
    private(set) var isLast = true

    /// Reads entities behind `position` and sorts their entries.
    init(
        _ index: Index, of repository: RepositoryRecord, after position: EntityID?, in snapshot: any StorageSnapshot,
        _ limits: Limits
    ) throws(HoldfastError) {
        sequence = snapshot.sequence
        var run = self
        try snapshot.scanAsking(repository.id, after: position) { view throws(HoldfastError) in
            // An entry could lead to none.
            if view.id.isEmpty { throw EntityCheck(repository).refusal(of: view) }
            try run.append(view, index, repository.name)
            run.isLast = run.bytes.count + run.entries.count * MemoryLayout<Entry>.stride < limits.indexRunBytes
            return run.isLast
        }
        self = run
        if let newest = entries.last { last = id(of: newest) }
        try sort()
    }

    private mutating func append(
        _ view: EntityView, _ index: Index, _ repository: String
    ) throws(HoldfastError) {
        let keys = try index.keys(of: view.body, EntityID(unchecked: Array(view.id)), in: repository)
        try entries.askToGrow(by: keys.keys.count)
        try bytes.askToGrow(by: keys.byteCount + keys.keys.count * view.id.count)
        for key in keys.keys {
            entries.append(
                Entry(
                    beginning: Self.beginning(of: key), start: bytes.count, keyLength: key.count,
                    idLength: view.id.count, version: view.version, number: view.number))
            bytes += key
            bytes += view.id
        }
        hasArrays = hasArrays || keys.hasArrays
        entityCount += 1
    }

    private func id(of entry: Entry) -> EntityID {
        let start = entry.start + entry.keyLength
        return EntityID(unchecked: Array(bytes[start..<start + entry.idLength]))
    }

    private static func beginning(of key: [UInt8]) -> UInt64 {
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number) { number in
            key.withBytes { number.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(8))) }
        }
        return UInt64(bigEndian: number)
    }

    private mutating func sort() throws(HoldfastError) {
        var entries = entries
        self.entries = []
        try bytes.withBytes { bytes throws(HoldfastError) in
            try Interrupt.sort(&entries) { left, right in
                if left.beginning != right.beginning { return left.beginning < right.beginning }
                let order = compareBytes(
                    UnsafeRawBufferPointer(rebasing: bytes[left.start..<left.start + left.keyLength]),
                    UnsafeRawBufferPointer(rebasing: bytes[right.start..<right.start + right.keyLength]))
                return order == 0 ? left.start < right.start : order < 0
            }
        }
        self.entries = entries
    }

    /// How many of the entities' entries have been taken, about.
    var progress: Int { entries.isEmpty ? 0 : entityCount * next / entries.count }

    /// The next entries, few enough that commits in the same queue hardly notice; nil where none is left.
    mutating func takePiece(of index: IndexRecord, _ limits: Limits) -> IndexPiece? {
        if next == entries.count { return nil }
        var piece = IndexPiece(sequence: sequence, hasArrays: hasArrays)
        while next < entries.count, piece.entries.count < limits.indexPieceEntries, piece.bytes < limits.indexPieceBytes
        {
            let entry = entries[next]
            piece.entries.append(
                IndexEntryChange(
                    index: index.id, key: Array(bytes[entry.start..<entry.start + entry.keyLength]),
                    entity: EntityKey(index.repository, id(of: entry)), number: entry.number, isRemoval: false))
            piece.versions.append(entry.version)
            piece.bytes += entry.keyLength + entry.idLength
            next += 1
        }
        return piece
    }
}

/// Entries for an index that is being built, of entities as they were in a snapshot.
package struct IndexPiece: Sendable {
    /// The snapshot's.
    var sequence: CommitSequence
    var hasArrays: Bool
    var entries: [IndexEntryChange] = []
    /// That of each entry's entity.
    var versions: [CommitSequence] = []
    var bytes = 0
    /// Of a text index, instead of entries.
    var text: TextPiece?
}
