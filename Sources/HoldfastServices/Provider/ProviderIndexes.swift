internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The entries of indexes, made anew from what the provider holds.
enum ProviderIndexes {
    struct Fresh: Sendable {
        var records: [IndexRecord]
        var entries = OrderedMap<MemoryState.IndexEntry, Void>()
    }

    /// Of entities that are damaged, or have too many, there are none; verifying tells which.
    static func entries(of state: MemoryState, _ calls: ProviderCalls) throws(HoldfastError) -> Fresh {
        var fresh = Fresh(records: state.indexes)
        for repository in state.repositories {
            let numbers = fresh.records.indices.filter {
                fresh.records[$0].repository == repository.id && fresh.records[$0].state != .dropping
            }
            if numbers.isEmpty { continue }
            let indexes = try numbers.map { number throws(HoldfastError) in try Index(fresh.records[number]) }
            var texts = indexes.map { $0.definition.text == nil ? nil : TextUpkeep($0) }
            for (id, body) in try calls.fetchAll(repository.name, filter: .all) {
                for (place, number) in numbers.enumerated() {
                    let definition = indexes[place].definition
                    guard let keys = body.withBytes({ body in try? IndexKeys(of: body, for: definition) }) else {
                        continue
                    }
                    if definition.text != nil {
                        try texts[place]?.add(keys, of: id)
                        continue
                    }
                    if keys.hasArrays { fresh.records[number].hasArrays = true }
                    for key in keys.keys {
                        let entry = MemoryState.IndexEntry(index: fresh.records[number].id, key: key, id: id)
                        fresh.entries[entry] = ()
                    }
                }
            }
            for (place, number) in numbers.enumerated() {
                for key in try texts[place]?.rows() ?? [] {
                    let entry = MemoryState.IndexEntry(
                        index: fresh.records[number].id, key: key, id: EntityID(unchecked: []))
                    fresh.entries[entry] = ()
                }
            }
        }
        return fresh
    }
}

extension MemoryState {
    /// Entries of an index that is being dropped go at once.
    mutating func replaceIndexes(_ fresh: ProviderIndexes.Fresh) {
        indexes = fresh.records
        indexEntries = fresh.entries
    }

    /// Nothing is known of what was committed up to this sequence, which is the newest from here on.
    mutating func forgetCommitLog(through sequence: CommitSequence) {
        commitLog = OrderedMap()
        commitLogBegins = sequence + 1
        newestSequence = sequence
    }
}
