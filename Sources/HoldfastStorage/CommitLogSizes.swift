package import HoldfastEnvironment
package import HoldfastQuery

/// How many bytes the entries of the commit log take, and from which one on they are few enough. It notes coarse pieces
/// of the commit log, oldest first, so that no entry has to be looked at. What was there when the store was opened is
/// counted once, when that is worth it; what other processes add is counted as it is met.
///
/// Where another process has trimmed the commit log the pieces that are gone are the oldest here, and the first to go.
package struct CommitLogSizes {
    private struct Piece {
        /// The newest of its entries.
        var through: CommitSequence
        var bytes: Int
    }

    private let limit: Int
    private let pieceBytes: Int
    private var pieces: [Piece] = []
    private var total = 0
    /// Whether the pieces are of the whole log, and not only of what was added since the store was opened.
    package private(set) var isComplete = false

    package init(limit: Int, pieces: Int) {
        self.limit = limit
        pieceBytes = limit / pieces
    }

    /// What entries take, as the option tells it.
    package static func bytes(of entries: [CommitLogEntry]) -> Int {
        entries.reduce(0) { sum, entry in
            entry.changes.reduce(sum + bytesPerCommit) { $0 + $1.key.id.bytes.count + bytesPerChange }
        }
    }

    private static let bytesPerCommit = 32
    private static let bytesPerChange = 2

    /// Whether entries of so many bytes more make it worth looking at the whole log.
    package func mustCount(adding bytes: Int) -> Bool { !isComplete && total + bytes > pieceBytes }

    /// Begins anew with what the commit log holds.
    package mutating func count(in write: any StorageWrite) throws(HoldfastError) {
        // A log that cannot be read shall not be in the way for ever.
        isComplete = true
        pieces = []
        total = 0
        try add(behind: 0, in: write)
    }

    /// Below which sequence the commit log is trimmed so that it has room for entries of so many bytes more; 0 where it
    /// has. What is added stays, whatever it takes.
    package func horizon(adding bytes: Int) -> CommitSequence {
        var rest = total + bytes
        var horizon: CommitSequence = 0
        for piece in pieces {
            if rest <= limit { break }
            rest -= piece.bytes
            horizon = piece.through + 1
        }
        return horizon
    }

    /// Entries were stored, the newest of them at this sequence.
    package mutating func add(_ bytes: Int, through sequence: CommitSequence) {
        total += bytes
        if let last = pieces.last, last.bytes + bytes <= pieceBytes {
            pieces[pieces.count - 1] = Piece(through: sequence, bytes: last.bytes + bytes)
        } else {
            pieces.append(Piece(through: sequence, bytes: bytes))
        }
    }

    /// The commit log was trimmed.
    package mutating func remove(below horizon: CommitSequence) {
        let gone = pieces.prefix { $0.through < horizon }
        total -= gone.reduce(0) { $0 + $1.bytes }
        pieces.removeFirst(gone.count)
    }

    /// Entries behind this sequence are in the commit log, most likely by others. It looks at them newest first, up to
    /// where they take too much: what is older goes with the one that was too much.
    package mutating func add(behind sequence: CommitSequence, in write: any StorageWrite) throws(HoldfastError) {
        var found: [Piece] = []
        var sum = 0
        try write.commitLogSizes { newest, bytes in
            guard newest > sequence else { return false }
            sum += bytes
            if let last = found.last, last.bytes + bytes <= pieceBytes {
                found[found.count - 1].bytes += bytes
            } else {
                found.append(Piece(through: newest, bytes: bytes))
            }
            return sum <= limit
        }
        for piece in found.reversed() { add(piece.bytes, through: piece.through) }
    }
}
