internal import HoldfastQuery
internal import HoldfastStorage

/// What the provider held before each change, as long as a snapshot from before is open: the provider itself has no past.
///
/// Changes are numbered. A snapshot notes the number of the first that it does not see, which is the one that is being made
/// when it is opened. What it is to show of an entity is what was there before the first of those that changed it, and what
/// the provider holds if none did.
struct FormerTexts: Sendable {
    struct Former: Sendable {
        fileprivate var change: UInt64
        /// Nil: there was no such entity.
        var text: [UInt8]?
    }

    private var formers = OrderedMap<EntityKey, [Former]>()
    /// Which keys each change has, oldest first.
    private var changes: [(number: UInt64, keys: [EntityKey])] = []
    /// How many snapshots have begun at each number.
    private var open: [UInt64: Int] = [:]
    /// Of the change that is being made, or will be made next.
    private(set) var current: UInt64 = 1

    // MARK: Changes

    /// Before a change begins to be made.
    mutating func begin(_ texts: [(key: EntityKey, text: [UInt8]?)]) {
        for (key, text) in texts { formers[key] = (formers[key] ?? []) + [Former(change: current, text: text)] }
        changes.append((current, texts.map(\.key)))
    }

    /// When it was made, or undone.
    mutating func end() {
        // No snapshot that is open needs it of an entity of which the one before is kept, and not seen by any.
        if let last = changes.indices.last, let newest = open.keys.max(), changes[last].number == current {
            changes[last].keys.removeAll { key in
                guard var texts = formers[key], texts.count > 1, texts[texts.count - 2].change >= newest else {
                    return false
                }
                texts.removeLast()
                formers[key] = texts
                return true
            }
        }
        current += 1
        prune()
    }

    // MARK: Snapshots

    mutating func openSnapshot() -> UInt64 {
        open[current, default: 0] += 1
        return current
    }

    mutating func closeSnapshot(_ number: UInt64) {
        guard let count = open[number] else { return }
        open[number] = count == 1 ? nil : count - 1
        prune()
    }

    /// Who has a number from before must not use it any more.
    mutating func removeAll() {
        let next = current + 1
        self = FormerTexts()
        current = next
    }

    /// Nil where no change has touched it.
    func former(_ key: EntityKey, since number: UInt64) -> Former? {
        formers[key]?.first { $0.change >= number }
    }

    /// Of all entities of a repository that a change has touched.
    func all(of repository: RepositoryID, since number: UInt64) -> [EntityID: Former] {
        var found: [EntityID: Former] = [:]
        formers.walk(from: EntityKey(repository, EntityID(unchecked: []))) { key, formers in
            guard key.repository == repository else { return false }
            if let former = formers.first(where: { $0.change >= number }) { found[key.id] = former }
            return true
        }
        return found
    }

    /// Lets go of changes that every open snapshot sees.
    private mutating func prune() {
        let needed = open.keys.min() ?? current
        let seen = changes.prefix { $0.number < needed }
        if seen.isEmpty { return }
        for (number, keys) in seen {
            for key in keys {
                let left = (formers[key] ?? []).filter { $0.change > number }
                formers[key] = left.isEmpty ? nil : left
            }
        }
        changes.removeFirst(seen.count)
    }
}
