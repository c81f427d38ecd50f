/// What a transaction has written so far, by key, and the savepoints within it.
struct WriteBuffer {
    struct Entry {
        /// The text, or nil for a deletion.
        var body: [UInt8]?
        /// Whether the snapshot is known to hold no such entity, so that deleting it again leaves nothing to do.
        var isNew: Bool
        var textBeforeAssignment: [UInt8]?
    }

    private(set) var entries: [EntityKey: Entry] = [:]
    private(set) var bytes = 0

    /// What to put back, newest last; kept only while there are savepoints.
    private var undo: [(key: EntityKey, before: Entry?)] = []
    private var savepoints: [(number: UInt64, undoCount: Int)] = []
    private var savepointsMade: UInt64 = 0

    subscript(key: EntityKey) -> Entry? { entries[key] }

    var isEmpty: Bool { entries.isEmpty }

    mutating func set(_ key: EntityKey, _ entry: Entry?) {
        let before = entry.map { entries.updateValue($0, forKey: key) } ?? entries.removeValue(forKey: key)
        bytes += (entry?.body?.count ?? 0) - (before?.body?.count ?? 0)
        if !savepoints.isEmpty { undo.append((key, before)) }
    }

    mutating func savepoint() -> UInt64 {
        savepointsMade += 1
        savepoints.append((savepointsMade, undo.count))
        return savepointsMade
    }

    /// Answers whether there is such a savepoint.
    mutating func rollBack(to number: UInt64) -> Bool {
        guard let index = savepoints.lastIndex(where: { $0.number == number }) else { return false }
        for (key, before) in undo[savepoints[index].undoCount...].reversed() {
            let now = before.map { entries.updateValue($0, forKey: key) } ?? entries.removeValue(forKey: key)
            bytes += (before?.body?.count ?? 0) - (now?.body?.count ?? 0)
        }
        undo.removeSubrange(savepoints[index].undoCount...)
        savepoints.removeSubrange((index + 1)...)
        return true
    }

    /// Forgets a savepoint and keeps what was written after it.
    mutating func release(_ number: UInt64) {
        savepoints.removeAll { $0.number == number }
        if savepoints.isEmpty { undo.removeAll() }
    }

    /// The write set for the commit queue, ordered by key.
    func writes() -> [Write] {
        entries.sorted { $0.key < $1.key }.map { key, entry in
            Write(
                key: key, action: entry.body.map { .put($0) } ?? .delete,
                textBeforeAssignment: entry.textBeforeAssignment)
        }
    }
}
