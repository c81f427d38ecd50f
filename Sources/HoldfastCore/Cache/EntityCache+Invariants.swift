internal import HoldfastEnvironment
package import HoldfastQuery
package import HoldfastStorage
internal import Synchronization

extension EntityCache {
    /// What is wrong with the cache, or nil: `CacheState` numbers it. Visits every entry: for tests.
    package func violatedInvariant() -> String? {
        state.withLock { state in
            if hasTimesToLive.load(ordering: .relaxed)
                != state.repositories.contains(where: { $0.table.timeToLive.load(ordering: .relaxed) > 0 })
            {
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
            for repository in state.repositories {
                for entity in repository.table.all {
                    let key = EntityKey(repository.repository, EntityID(unchecked: Array(entity.id)))
                    let (found, version) = (stored(key), entity.pointee.version)
                    if found?.version != version || found?.body != Array(entity.body) {
                        return "cache 7: \(key) is cached as of \(version), and stored as of \(found?.version ?? 0)"
                    }
                }
            }
            return nil
        }
    }
}

extension CacheState {
    /// What is wrong, or nil:
    ///
    /// 1. An order has each entry once that it governs, in a heap, and counts their bytes; neither these nor their number are
    ///    more than is allowed.
    /// 2. A repository's entries stand in its own order if it has a policy, else in the general one.
    /// 3. A repository counts its entries and their bytes.
    /// 4. An entry is found by its id, and not newer than the state that the cache shows.
    /// 5. Each repository is found by its index.
    fileprivate func violatedInvariant() -> String? {
        var shared: [Entity] = []
        for (index, state) in repositories.enumerated() {
            let entities = state.table.all
            let isShared = state.policy == nil
            if isShared { shared += entities }
            if let fault = state.own.violatedInvariant(isShared ? [] : entities) {
                return "cache 1, 2: \(state.repository): \(fault)"
            }
            let bytes = entities.reduce(0) { $0 + $1.size }
            if state.table.count != entities.count || state.bytes != bytes {
                return "cache 3: \(state.repository) has \(entities.count) entries of \(bytes) bytes, and counts "
                    + "\(state.table.count) of \(state.bytes)"
            }
            for entity in entities {
                if state.table.find(entity.id, state.table.hash(entity.id)) != entity {
                    return "cache 4: \(Array(entity.id)) is not found"
                }
                let version = entity.pointee.version
                if version > head { return "cache 4: \(Array(entity.id)) is of \(version), behind \(head)" }
            }
            if indexes[state.repository] != index || state.table.index != index {
                return "cache 5: \(state.repository) is not found"
            }
        }
        if let fault = general.violatedInvariant(shared) { return "cache 1, 2: \(fault)" }
        if indexes.count != repositories.count { return "cache 5: \(indexes.count) of \(repositories.count) are found" }
        return floor > head ? "cache 5: it serves from \(floor) to \(head)" : nil
    }
}
