package import HoldfastQuery

/// What a lane of a controller's state remembers of each thing it was asked for, by token or id, the longest ago first.
/// What has ended is forgotten when `keptLimit` later ones have ended too.
package struct Ledger<Entry: LedgerEntry>: Sendable {
    package private(set) var entries: [(id: EntityID, entry: Entry)] = []
    /// What was asked for last: the lane shows it.
    package private(set) var latest: EntityID?

    static var keptLimit: Int { 100 }

    package subscript(id: EntityID) -> Entry? { index(of: id).map { entries[$0].entry } }

    /// From the end, where what is new stands.
    private func index(of id: EntityID) -> Int? { entries.lastIndex { $0.id == id } }

    /// What was known under this id makes room.
    mutating func begin(_ id: EntityID, _ entry: Entry) {
        if let index = index(of: id) { entries.remove(at: index) }
        entries.append((id, entry))
        latest = id
        forget()
    }

    /// Changes an entry in place. False where there is none, or `body` leaves it as it is.
    mutating func change(_ id: EntityID, _ body: (inout Entry) -> Bool) -> Bool {
        guard let index = index(of: id), body(&entries[index].entry) else { return false }
        if entries[index].entry.hasEnded { forget() }
        return true
    }

    private mutating func forget() {
        guard entries.count > Self.keptLimit else { return }
        var surplus = entries.count { $0.entry.hasEnded } - Self.keptLimit
        guard surplus > 0 else { return }
        entries.removeAll { (id, entry) in
            guard surplus > 0, entry.hasEnded, id != latest else { return false }
            surplus -= 1
            return true
        }
    }

    /// Of a state that was read: nil where the lane shows what is not there.
    init?(_ entries: [(id: EntityID, entry: Entry)], latest: EntityID?) {
        self.entries = entries
        self.latest = latest
        if let latest, index(of: latest) == nil { return nil }
    }

    init() {}
}

package protocol LedgerEntry: Sendable {
    /// Whether nothing is going to change it by itself any more.
    var hasEnded: Bool { get }
}
