internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A position in the order of a store's commits, as receipts and events name it: "incarnation:sequence".
enum StreamPosition {
    static func text(_ incarnation: String, _ sequence: CommitSequence) -> String { "\(incarnation):\(sequence)" }

    /// The sequence that a position of this store names. `.cursorLost` for one of another store, or of a future that a
    /// restore has undone; `head` is the newest there is.
    static func sequence(
        _ text: String, in incarnation: String, head: CommitSequence
    ) throws(HoldfastError) -> CommitSequence {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let sequence = CommitSequence(parts[1]), sequence < CommitSequence(Int64.max) else {
            throw HoldfastError(
                .invalidArgument, "\"\(text)\" is no position: pass one of a receipt, an event or the store")
        }
        guard parts[0].utf8.elementsEqual(incarnation.utf8), sequence <= head else {
            throw undone(incarnation, head)
        }
        return sequence
    }

    /// The same, where the commit log can tell: also for one of a future that a failover has undone, whose sequence nobody has
    /// got since.
    static func sequence(
        _ text: String, in incarnation: String, on snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> CommitSequence {
        let sequence = try sequence(text, in: incarnation, head: snapshot.sequence)
        if sequence > 0, let entries = try snapshot.commitLog(after: sequence - 1, limit: 1),
            entries.first?.sequence != sequence
        {
            throw undone(incarnation, snapshot.sequence)
        }
        return sequence
    }

    static func undone(_ incarnation: String, _ head: CommitSequence) -> HoldfastError {
        lost(
            "the position belongs to another store, or to what a restore or a failover has undone", incarnation, head)
    }

    static func trimmed(_ incarnation: String, _ head: CommitSequence) -> HoldfastError {
        lost("the commits behind the position are no longer in the log", incarnation, head)
    }

    private static func lost(_ reason: String, _ incarnation: String, _ head: CommitSequence) -> HoldfastError {
        let position = text(incarnation, head)
        return HoldfastError(
            .cursorLost, "\(reason): read what is stored anew, then go on from the position \(position)",
            detail: [("position", .text(position))])
    }
}
