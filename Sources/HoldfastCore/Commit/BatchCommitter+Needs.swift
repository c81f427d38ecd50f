internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What is asked of a server at once, before the members of a batch are validated.
extension BatchCommitter {
    /// What the members of a batch ask of a server, as far as their requests tell it.
    func needs(of batch: [Commit]) -> WriteNeeds {
        var needs = WriteNeeds()
        var keys: Set<EntityKey> = []
        var indexKeys: [IndexID: Set<[UInt8]>] = [:]
        let followed = follower.needsBeforeImages
        for commit in batch {
            if let key = commit.idempotencyKey { needs.idempotencyKeys.append(key) }
            for write in commit.writes {
                let repository = write.key.repository
                let indexes = knownIndexes[repository] ?? []
                if write.asksForState || !indexes.isEmpty || followed?(repository) ?? false {
                    if keys.insert(write.key).inserted { needs.entities.append(write.key) }
                }
                guard case .put(let body) = write.action else { continue }
                for index in indexes where index.definition.isUnique {
                    // What is wrong with it is found when it is its turn.
                    let found = try? body.withBytes { body throws(HoldfastError) in
                        try index.keys(of: body, write.key.id, in: names.name(of: repository))
                    }
                    for key in found?.keys ?? [] where indexKeys[index.record.id, default: []].insert(key).inserted {
                        needs.indexKeys.append((index.record, key))
                    }
                }
            }
        }
        return needs
    }
}
