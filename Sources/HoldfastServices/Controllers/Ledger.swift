package import HoldfastQuery

/// What a lane of a controller's state remembers of each thing it was asked for, by token or id. What has ended is forgotten
/// when `keptLimit` later ones have ended too. However much is under way, each costs the same.
package struct Ledger<Entry: LedgerEntry>: Sendable {
    private struct Known: Sendable {
        /// How many were asked for before it.
        let number: Int
        var entry: Entry
    }

    private var known: [EntityID: Known] = [:]
    /// What has ended, by rising numbers: hardly more than are kept.
    private var ended: [(number: Int, id: EntityID)] = []
    private var asked = 0
    /// What was asked for last: the lane shows it.
    package private(set) var latest: EntityID?

    static var keptLimit: Int { 100 }

    package subscript(id: EntityID) -> Entry? { known[id]?.entry }

    /// All of it, the longest ago first.
    package var entries: [(id: EntityID, entry: Entry)] {
        known.sorted { $0.value.number < $1.value.number }.map { ($0.key, $0.value.entry) }
    }

    /// What was known under this id makes room.
    mutating func begin(_ id: EntityID, _ entry: Entry) {
        add(id, entry)
        latest = id
        forget()
    }

    /// Changes an entry in place. False where there is none, or `body` leaves it as it is. What has ended stays so.
    mutating func change(_ id: EntityID, _ body: (inout Entry) -> Bool) -> Bool {
        guard let index = known.index(forKey: id) else { return false }
        let hadEnded = known.values[index].entry.hasEnded
        guard body(&known.values[index].entry) else { return false }
        if !hadEnded { noteEnd(id, known.values[index]) }
        forget()
        return true
    }

    private mutating func add(_ id: EntityID, _ entry: Entry) {
        let new = Known(number: asked, entry: entry)
        asked += 1
        if let former = known.updateValue(new, forKey: id), former.entry.hasEnded {
            ended.removeAll { $0.number == former.number }
        }
        noteEnd(id, new)
    }

    private mutating func noteEnd(_ id: EntityID, _ known: Known) {
        guard known.entry.hasEnded else { return }
        let before = ended.lastIndex { $0.number < known.number }
        ended.insert((known.number, id), at: before.map { $0 + 1 } ?? 0)
    }

    private mutating func forget() {
        let surplus = ended.count - Self.keptLimit
        guard surplus > 0 else { return }
        let forgotten = ended.prefix(surplus + 1).filter { $0.id != latest }.prefix(surplus)
        guard let last = forgotten.last else { return }
        for (_, id) in forgotten { known[id] = nil }
        ended.removeAll { $0.number <= last.number && $0.id != latest }
    }

    /// Of a state that was read: nil where the lane shows what is not there.
    init?(_ entries: [(id: EntityID, entry: Entry)], latest: EntityID?) {
        for (id, entry) in entries { add(id, entry) }
        self.latest = latest
        if let latest, known[latest] == nil { return nil }
    }

    init() {}
}

package protocol LedgerEntry: Sendable {
    /// Whether nothing is going to change it by itself any more.
    var hasEnded: Bool { get }
}
