internal import HoldfastQuery
internal import HoldfastStorage

/// The before-images of each change: what the provider held, as long as a snapshot from before is open: the provider
/// itself has no past.
///
/// Changes are numbered. A snapshot notes the number of the first that it does not see, which is the one that is being made
/// when it is opened. What it is to show of an entity is what was there before the first of those that changed it, and what
/// the provider holds if none did.
struct BeforeImages: Sendable {
    struct Image: Sendable {
        fileprivate var change: UInt64
        /// Nil: there was no such entity.
        var body: [UInt8]?
    }

    private var images = OrderedMap<EntityKey, [Image]>()
    /// Which keys each change has, oldest first.
    private var changes: [(number: UInt64, keys: [EntityKey])] = []
    /// How many snapshots have begun at each number.
    private var open: [UInt64: Int] = [:]
    /// Of the change that is being made, or will be made next.
    private(set) var current: UInt64 = 1

    // MARK: Changes

    /// Before a change begins to be made.
    mutating func begin(_ bodies: [(key: EntityKey, body: [UInt8]?)]) {
        for (key, body) in bodies { images[key] = (images[key] ?? []) + [Image(change: current, body: body)] }
        changes.append((current, bodies.map(\.key)))
    }

    /// When it was made, or undone.
    mutating func end() {
        // No snapshot that is open needs it of an entity of which the one before is kept, and not seen by any.
        if let last = changes.indices.last, let newest = open.keys.max(), changes[last].number == current {
            changes[last].keys.removeAll { key in
                guard var bodies = images[key], bodies.count > 1, bodies[bodies.count - 2].change >= newest else {
                    return false
                }
                bodies.removeLast()
                images[key] = bodies
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
        self = BeforeImages()
        current = next
    }

    /// Nil where no change has touched it.
    func image(of key: EntityKey, since number: UInt64) -> Image? {
        images[key]?.first { $0.change >= number }
    }

    /// Of all entities of a repository that a change has touched.
    func all(of repository: RepositoryID, since number: UInt64) -> [EntityID: Image] {
        var found: [EntityID: Image] = [:]
        images.walk(from: EntityKey(repository, EntityID(unchecked: []))) { key, images in
            guard key.repository == repository else { return false }
            if let image = images.first(where: { $0.change >= number }) { found[key.id] = image }
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
                let left = (images[key] ?? []).filter { $0.change > number }
                images[key] = left.isEmpty ? nil : left
            }
        }
        changes.removeFirst(seen.count)
    }
}
