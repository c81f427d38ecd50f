internal import HoldfastEnvironment
package import HoldfastQuery
package import HoldfastStorage
internal import Synchronization

extension EntityCache {
    /// What is wrong with the cache, or nil: `CacheState` and `CacheList` number it. Visits every entry: for tests.
    package func violatedInvariant() -> String? {
        state.withLock { state in
            if hasTimesToLive.load(ordering: .relaxed) != state.repositories.contains(where: { $0.timeToLive > 0 }) {
                return "cache 6: not everybody knows whether entries expire"
            }
            return state.violatedInvariant()
        }
    }

    /// Whether entries are committed: `stored` answers an entity's version and body in the newest state. Nil where the cache
    /// does not show that state, or all of it agrees.
    package func violatedAgreement(
        _ token: ChangeToken?, _ stored: (EntityKey) -> (version: CommitSequence, body: [UInt8])?
    ) -> String? {
        state.withLock { state in
            guard let token, state.token == token, !state.isCommitting else { return nil }
            for (key, entity) in state.lists.flatMap(\.entries) {
                let found = stored(key)
                if found?.version != entity.version || found?.body != entity.body {
                    return "cache 7: \(key) is cached as of \(entity.version), and stored as of \(found?.version ?? 0)"
                }
            }
            return nil
        }
    }
}

extension CacheState {
    fileprivate var lists: [EntityCache.Entries] { [general] + repositories.map(\.own) }

    /// What is wrong, or nil:
    ///
    /// 1. Each list is whole.
    /// 2. A repository's entries stand in its own list if it has a policy, else in the general one.
    /// 3. A repository counts its entries and their bytes.
    /// 4. An entry's size is what it takes, and it is not newer than the state that the cache shows.
    /// 5. Each repository is found by its index.
    fileprivate func violatedInvariant() -> String? {
        var counted: [RepositoryID: (entries: Int, bytes: Int)] = [:]
        for (number, list) in lists.enumerated() {
            if let fault = list.violatedInvariant() { return "cache 1: \(fault)" }
            for (key, entity) in list.entries {
                let index = repositories.firstIndex { $0.repository == key.repository }
                guard let index, number == (repositories[index].policy == nil ? 0 : index + 1) else {
                    return "cache 2: \(key) stands in list \(number)"
                }
                let size = EntityCache.size(key, entity)
                if list.sizeOfEntry(key) != size {
                    return "cache 4: \(key) takes \(size) bytes, not \(list.sizeOfEntry(key))"
                }
                if entity.version > head { return "cache 4: \(key) is of \(entity.version), behind \(head)" }
                counted[key.repository, default: (0, 0)].entries += 1
                counted[key.repository, default: (0, 0)].bytes += size
            }
        }
        for (index, state) in repositories.enumerated() {
            let (entries, bytes) = counted[state.repository] ?? (0, 0)
            if state.entries != entries || state.bytes != bytes {
                return "cache 3: \(state.repository) has \(entries) entries of \(bytes) bytes, and counts "
                    + "\(state.entries) of \(state.bytes)"
            }
            if indexes[state.repository] != index { return "cache 5: \(state.repository) is not found" }
        }
        if indexes.count != repositories.count { return "cache 5: \(indexes.count) of \(repositories.count) are found" }
        return floor > head ? "cache 5: it serves from \(floor) to \(head)" : nil
    }
}

extension CacheList {
    /// In the order of eviction, the next to go first, as far as the list is whole.
    fileprivate var entries: [(key: Key, value: Value)] {
        positions.compactMap { position in slots[position].map { ($0.key, $0.value) } }
    }

    private var positions: [Int] {
        var positions: [Int] = []
        var position = oldest
        while position != Self.none, positions.count <= slots.count {
            positions.append(Int(position))
            position = links[Int(position)].newer
        }
        return positions
    }

    fileprivate func sizeOfEntry(_ key: Key) -> Int { index[key].flatMap { slots[Int($0)]?.size } ?? 0 }

    /// What is wrong with the list, or nil:
    ///
    /// 1. It is as long as its index, and leads to each entry once, from both ends.
    /// 2. The index names each entry's slot; all other slots are empty, and free.
    /// 3. Its size is that of its entries; neither that nor their number is more than is allowed.
    func violatedInvariant() -> String? {
        let positions = positions
        if positions.count != index.count || Set(positions).count != index.count {
            return "1: the list has \(positions.count) entries, its index \(index.count)"
        }
        var older = Self.none
        for position in positions {
            if links[position].older != older { return "1: \(position) stands behind \(older) one way alone" }
            older = Int32(position)
            guard let slot = slots[position], index[slot.key] == older else {
                return "2: slot \(position) is not found"
            }
        }
        if newest != older { return "1: \(newest) is the newest, and not \(older)" }
        if Set(free).count != free.count || free.count != slots.count - index.count
            || free.contains(where: { slots[Int($0)] != nil })
        {
            return "2: \(free.count) of \(slots.count - index.count) slots are free"
        }
        let bytes = slots.reduce(0) { $0 + ($1?.size ?? 0) }
        if size != bytes { return "3: entries of \(bytes) bytes count as \(size)" }
        return size > maxSize || count > maxCount ? "3: \(count) entries of \(size) bytes are too many" : nil
    }
}
