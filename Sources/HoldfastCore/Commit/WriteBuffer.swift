internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What a transaction has written so far, by key, and the savepoints within it.
struct WriteBuffer {
    struct Entry {
        /// The text, or nil for a deletion.
        var body: [UInt8]?
        /// Whether the snapshot is known to hold no such entity, so that deleting it again leaves nothing to do.
        var isNew: Bool
        var bodyBeforeAssignment: [UInt8]?
        var asked: UInt64?
    }

    /// Most transactions write one entity: the first one lies here, and needs no dictionary.
    private(set) var first: (key: EntityKey, entry: Entry)?
    private(set) var others: [EntityKey: Entry] = [:]

    struct Savepoint {
        var undoCount: Int
        /// Of a part of the transaction that is still under way: it outlives a savepoint before it that is rolled back to.
        let isScope: Bool
    }

    /// What to put back, newest last; kept only while there are savepoints.
    private(set) var undo: [(key: EntityKey, before: Entry?)] = []
    private(set) var savepoints = NumberedList<Savepoint>()
    private(set) var savepointsMade: UInt64 = 0
    /// From how many on it is worth looking for entities that were written again and again.
    private var compactingCount: Int
    private let leastCompacted: Int
    /// Whether somebody counts what was written: then nothing is left out.
    var keepsEveryWrite = false

    init(_ limits: Limits) {
        leastCompacted = limits.compactedWrites
        compactingCount = leastCompacted
    }

    subscript(key: EntityKey) -> Entry? {
        if let first, first.key == key { return first.entry }
        return others.isEmpty ? nil : others[key]
    }

    var isEmpty: Bool { first == nil && others.isEmpty }

    mutating func set(_ key: EntityKey, _ entry: Entry?) {
        let before = replace(key, entry)
        if savepoints.isEmpty { return }
        undo.append((key, before))
        if undo.count > compactingCount { compact() }
    }

    mutating func reserve(_ count: Int) throws(HoldfastError) {
        try others.askToGrow(by: count)
        others.reserveCapacity(others.count + count)
    }

    /// Before a write is set.
    func askForOneMore() throws(HoldfastError) {
        try others.askToGrow()
        if !savepoints.isEmpty { try undo.askToGrow() }
    }

    mutating func savepoint(isScope: Bool = false) -> UInt64 {
        savepointsMade += 1
        savepoints.append(savepointsMade, Savepoint(undoCount: undo.count, isScope: isScope))
        return savepointsMade
    }

    /// Answers whether there is such a savepoint.
    mutating func rollBack(to number: UInt64) -> Bool {
        guard let count = savepoints[number]?.undoCount else { return false }
        for (key, before) in undo[count...].reversed() { _ = replace(key, before) }
        undo.removeSubrange(count...)
        savepoints.removeAll(after: number) { !$0.isScope }
        savepoints.updateEach(after: number) { $0.undoCount = count }
        return true
    }

    /// The same for a savepoint of the caller's.
    mutating func rollBackOwn(to number: UInt64) -> Bool {
        savepoints[number]?.isScope == false && rollBack(to: number)
    }

    /// Of what was written again and again between two savepoints, keeps how it was before all that.
    private mutating func compact() {
        if keepsEveryWrite { return }
        var kept: [(key: EntityKey, before: Entry?)] = []
        let undo = undo
        var next: Int?
        func keep(until end: Int) {
            var keys: Set<EntityKey> = []
            for step in undo[(next ?? end)..<end] where keys.insert(step.key).inserted { kept.append(step) }
            next = end
        }
        savepoints.updateEach { savepoint in
            keep(until: savepoint.undoCount)
            savepoint.undoCount = kept.count
        }
        keep(until: undo.count)
        self.undo = kept
        compactingCount = max(leastCompacted, 2 * kept.count, savepoints.count)
    }

    /// How many writes could be taken back: since the first savepoint, of which there must be one.
    var undoCount: Int { undo.count }

    /// What was written after `mark` of them, or all that was ever written, ordered by key.
    func entries(writtenAfter mark: Int?) -> [(key: EntityKey, entry: Entry?)] {
        var found: [EntityKey: Entry?] = [:]
        if let mark {
            for (key, _) in undo[min(mark, undo.count)...] { found.updateValue(self[key], forKey: key) }
        } else {
            for (key, entry) in others { found.updateValue(entry, forKey: key) }
            if let first { found.updateValue(first.entry, forKey: first.key) }
        }
        return found.map { (key: $0.key, entry: $0.value) }.sorted { $0.key < $1.key }
    }

    func contains(where isMeant: (EntityKey) -> Bool) -> Bool {
        if let first, isMeant(first.key) { return true }
        return others.contains { isMeant($0.key) }
    }

    /// Forgets a savepoint and keeps what was written after it.
    mutating func release(_ number: UInt64) {
        savepoints.remove(number)
        forgetUnneeded()
    }

    private mutating func forgetUnneeded() {
        if savepoints.isEmpty {
            undo = []
            compactingCount = leastCompacted
        } else if undo.count > compactingCount {
            compact()
        }
    }

    /// Forgets a savepoint of the caller's, and those after it. Answers whether there is such a one.
    mutating func releaseOwn(_ number: UInt64) -> Bool {
        guard savepoints[number]?.isScope == false else { return false }
        savepoints.removeAll(after: number - 1) { !$0.isScope }
        forgetUnneeded()
        return true
    }

    /// The entries of a repository, ordered by key.
    func entries(of repository: RepositoryID) -> [(key: EntityKey, entry: Entry)] {
        var entries = others.filter { $0.key.repository == repository }.map { (key: $0.key, entry: $0.value) }
        if let first, first.key.repository == repository { entries.append(first) }
        return entries.sorted { $0.key < $1.key }
    }

    /// The write set for the commit queue, ordered by key.
    func writes() -> [Write] {
        var writes: [Write] = []
        writes.reserveCapacity(others.count + 1)
        if let first { writes.append(Self.write(first.key, first.entry)) }
        if others.isEmpty { return writes }
        for (key, entry) in others { writes.append(Self.write(key, entry)) }
        return KeyOrder(count: writes.count) { writes[$0].key }.indexes.map { writes[$0] }
    }

    private static func write(_ key: EntityKey, _ entry: Entry) -> Write {
        var write = Write(
            key: key, action: entry.body.map { .put($0) } ?? .delete, bodyBeforeAssignment: entry.bodyBeforeAssignment)
        write.asked = entry.asked
        return write
    }

    /// Answers what was there.
    private mutating func replace(_ key: EntityKey, _ entry: Entry?) -> Entry? {
        guard let first, first.key != key else {
            if first == nil, let before = others[key] {
                others[key] = entry
                return before
            }
            let before = first?.entry
            first = entry.map { (key, $0) }
            return before
        }
        guard let entry else { return others.removeValue(forKey: key) }
        return others.updateValue(entry, forKey: key)
    }
}

extension Fingerprint {
    /// Of a modification in a transaction that had written the entity before, or had not.
    static func of(_ modification: Modification, after own: WriteBuffer.Entry?) -> UInt64 {
        var fingerprint = Fingerprint()
        if let asked = own?.asked {
            fingerprint.add(asked)
        } else if let body = own?.bodyBeforeAssignment ?? own?.body {
            fingerprint.add(body)
        }
        fingerprint.add(modification)
        return fingerprint.value
    }
}
