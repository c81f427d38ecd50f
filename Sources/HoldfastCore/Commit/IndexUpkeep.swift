internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Keeps the indexes right: works out what a batch does to their entries, and refuses what a unique index forbids.
///
/// It lives for one batch. Each member that is taken in tells the final texts of its entities; at the end each entity's
/// old entries, from what the storage still holds, are compared with its new ones.
struct IndexUpkeep {
    /// The indexes to be kept, by repository; those that are built too, from the commit on that created them.
    private let indexes: KnownIndexes
    private let names: Catalogue

    /// What an entity that was changed by this batch has in each of its repository's indexes.
    private var keys: [EntityKey: [IndexKeys]] = [:]
    /// Whom this batch has given a key of a unique index.
    private var owners: [IndexID: [[UInt8]: EntityID]] = [:]
    /// Entries of entities that did not change, found by who builds an index.
    private var built: [IndexEntryChange] = []
    /// Who has a key of a unique index by these, unless this batch changes it afterwards.
    private var builtOwners: [IndexID: [[UInt8]: EntityID]] = [:]
    private var builtArrays: Set<IndexID> = []
    private var texts: [IndexID: TextUpkeep] = [:]

    private var size: IndexKeysSize

    init(_ indexes: KnownIndexes, names: Catalogue, _ limits: Limits) {
        self.indexes = indexes
        self.names = names
        size = IndexKeysSize(limit: limits.indexKeyBytes)
    }

    /// Takes a member's changes in, or refuses it and leaves no trace but in the count.
    mutating func accept(
        _ changes: [CommitLogEntry.Change], _ bodies: [[UInt8]?], of commit: Commit, in write: any StorageWrite
    ) throws(Refusal) {
        if indexes.isEmpty { return }
        var new: [EntityKey: [IndexKeys]] = [:]
        for (change, body) in zip(changes, bodies) {
            if commit.isUnwanted { throw .member(Interrupt.cancelled) }
            do throws(HoldfastError) {
                try indexes.check(change.key.repository, names.name(of: change.key.repository))
            } catch { throw .member(error) }
            guard let indexes = indexes[change.key.repository] else { continue }
            var keys: [IndexKeys] = []
            for index in indexes {
                let found: IndexKeys
                do throws(HoldfastError) {
                    found =
                        try body?.withBytes { body throws(HoldfastError) in
                            try index.keys(of: body, change.key.id, in: names.name(of: change.key.repository))
                        } ?? .none
                } catch { throw .member(error) }
                do throws(HoldfastError) { try size.add(found, of: body?.count ?? 0) } catch { throw .storage(error) }
                keys.append(found)
            }
            new[change.key] = keys
        }
        if new.isEmpty { return }
        try checkUnique(new, in: write)
        for (entity, keys) in new { note(entity, keys) }
    }

    private mutating func note(_ entity: EntityKey, _ new: [IndexKeys]) {
        for (number, index) in indexes[entity.repository]!.enumerated() where index.definition.isUnique {
            for key in keys[entity]?[number].keys ?? [] where owners[index.record.id]?[key] == entity.id {
                owners[index.record.id]![key] = nil
            }
            for key in new[number].keys { owners[index.record.id, default: [:]][key] = entity.id }
        }
        keys[entity] = new
    }

    // MARK: Uniqueness

    /// Checks the member's final state, so that two entities may exchange their values.
    private func checkUnique(_ new: [EntityKey: [IndexKeys]], in write: any StorageWrite) throws(Refusal) {
        var claims: [IndexID: [[UInt8]: EntityID]] = [:]
        for (entity, keys) in new {
            for (number, index) in indexes[entity.repository]!.enumerated() where index.definition.isUnique {
                for key in keys[number].keys {
                    if let other = claims[index.record.id]?[key] {
                        throw .member(violation(of: index, key, entity, other))
                    }
                    claims[index.record.id, default: [:]][key] = entity.id
                    if let holder = try holder(of: key, in: index, except: { new[$0] != nil }, write) {
                        throw .member(violation(of: index, key, entity, holder))
                    }
                }
            }
        }
    }

    /// Who has a key, as the batch stands; those excepted aside.
    private func holder(
        of key: [UInt8], in index: Index, except isExcepted: (EntityKey) -> Bool, _ write: any StorageWrite
    ) throws(Refusal) -> EntityID? {
        let repository = index.record.repository
        if let owner = owners[index.record.id]?[key], !isExcepted(EntityKey(repository, owner)) { return owner }
        if let owner = builtOwners[index.record.id]?[key] {
            let entity = EntityKey(repository, owner)
            if !isExcepted(entity) && keys[entity] == nil { return owner }
        }
        var holder: EntityID?
        do throws(HoldfastError) {
            try write.ids(under: key, of: index.record) { id in
                let entity = EntityKey(repository, EntityID(unchecked: Array(id)))
                // What the storage says of an entity that this batch has changed is no longer so.
                if !isExcepted(entity) && keys[entity] == nil { holder = entity.id }
                return holder == nil
            }
        } catch { throw .storage(error) }
        return holder
    }

    private func violation(
        of index: Index, _ key: [UInt8], _ entity: EntityKey, _ other: EntityID
    ) -> HoldfastError {
        let repository = names.name(of: entity.repository)
        let value = OrderedKey.json(of: key, index.definition)
        return HoldfastError(
            .uniqueViolation,
            "\(repository) \"\(entity.id.text)\" and \"\(other.text)\" would both have \(value) in the unique index "
                + "\"\(index.record.name)\": change one of them",
            detail: [
                ("repository", .text(repository)), ("index", .text(index.record.name)), ("id", .text(entity.id.text)),
                ("other", .text(other.text)), ("value", .text(value)),
            ])
    }

    // MARK: Building

    /// Adds an entry of an entity that was there before the index, and has not changed since.
    mutating func build(_ index: Index, _ entry: IndexEntryChange, in write: any StorageWrite) throws(Refusal) {
        // This batch has changed it, and keeps its entries.
        if !keys.isEmpty && keys[entry.entity] != nil { return }
        if index.definition.isUnique {
            if let holder = try holder(of: entry.key, in: index, except: { $0 == entry.entity }, write) {
                throw .member(violation(of: index, entry.key, entry.entity, holder))
            }
            builtOwners[index.record.id, default: [:]][entry.key] = entry.entity.id
        }
        built.append(entry)
    }

    mutating func noteArrays(in index: IndexID) { builtArrays.insert(index) }

    /// Adds a piece of a text index, and answers the numbers of those of its entities that get one, 0 for the others.
    mutating func build(
        _ index: Index, _ piece: TextPiece, in write: any StorageWrite,
        _ isCurrent: ([EntityKey], [CommitSequence]) throws(HoldfastError) -> [Bool]
    ) throws(HoldfastError) -> [UInt64] {
        var text = texts[index.record.id] ?? TextUpkeep(index)
        texts[index.record.id] = nil
        defer { texts[index.record.id] = text }
        switch piece {
        case .documents(let documents):
            let isCurrent = try isCurrent(documents.entities, documents.versions)
            let wanted = zip(documents.entities, isCurrent).map { keys[$0] == nil && $1 }
            return try text.build(documents, wanted, lastKeys(of: index, in: write))
        case .postings(let edits, let documents):
            let isCurrent = try isCurrent(documents.entities, documents.versions)
            try text.build(edits, documents) { isCurrent[$0] && (keys.isEmpty || keys[documents.entities[$0]] == nil) }
            return []
        }
    }

    private func lastKeys(of index: Index, in write: any StorageWrite) -> TextUpkeep.LastKeys {
        { ranges, body throws(HoldfastError) in try write.lastKeys(in: ranges, of: index.record, body) }
    }

    // MARK: The end of the batch

    /// Adds to what the engine stores.
    func complete(_ batch: inout WriteBatch, in write: any StorageWrite) throws(HoldfastError) {
        if keys.isEmpty && built.isEmpty && builtArrays.isEmpty && texts.isEmpty { return }
        let changed = batch.changes.filter { keys[$0.key] != nil }
        var old = changed.map { _ in [IndexKeys]() }
        var size = size
        let isUnwanted = batch.isUnwanted
        try write.fetch(changed.map(\.key)) { number, view throws(HoldfastError) in
            if isUnwanted?() ?? false { throw Interrupt.cancelled }
            let isSound = names.check(of: changed[number].key.repository)?.isSound(view) ?? true
            for index in indexes[changed[number].key.repository]! {
                // A text that is damaged tells nothing of the keys that the lost one had.
                if !isSound && index.definition.text == nil {
                    batch.unindexed.append((index.record.id, changed[number].key))
                }
                var keys = IndexKeys.none
                keys.isUnknown = !isSound
                if isSound {
                    do throws(HoldfastError) {
                        keys = try IndexKeys(of: view.body, for: index.definition) ?? .none
                    } catch  where error.status != .noMemory {}
                }
                try size.add(keys, of: view.body.count)
                old[number].append(keys)
            }
        }
        var entries: [IndexEntryChange] = []
        var textChanges: [IndexID: [TextUpkeep.Change]] = [:]
        var arrays = builtArrays
        for (change, old) in zip(changed, old) {
            let new = keys[change.key]!
            for (number, index) in indexes[change.key.repository]!.enumerated() {
                let before = number < old.count ? old[number].keys : []
                let isUnknown = number < old.count && old[number].isUnknown
                let after = new[number].keys
                if new[number].hasArrays { arrays.insert(index.record.id) }
                // Who builds leaves out what has changed since it looked, also where its entries have not.
                let isBuilding = index.record.state == .building
                if before == after && !isBuilding && !isUnknown { continue }
                if index.definition.text != nil {
                    let (gone, stays) = (Set(after), isBuilding ? [] : Set(before))
                    let change = TextUpkeep.Change(
                        id: change.key.id, removed: before.filter { !gone.contains($0) },
                        added: after.filter { !stays.contains($0) }, isUnknown: isUnknown)
                    textChanges[index.record.id, default: []].append(change)
                    continue
                }
                func add(_ keys: [[UInt8]], without others: [[UInt8]], isRemoval: Bool) {
                    let others = Set(others)
                    for key in keys where !others.contains(key) {
                        entries.append(
                            IndexEntryChange(
                                index: index.record.id, key: key, entity: change.key, isRemoval: isRemoval))
                    }
                }
                add(before, without: after, isRemoval: true)
                add(after, without: isBuilding ? [] : before, isRemoval: false)
            }
        }
        // What was built comes first: a member of this batch may have changed the entity after it was looked at.
        batch.indexEntries = built + Self.ordered(entries)
        for index in indexes.all where textChanges[index.record.id] != nil || texts[index.record.id] != nil {
            var text = texts[index.record.id] ?? TextUpkeep(index)
            let rows = try text.complete(textChanges[index.record.id] ?? [], lastKeys(of: index, in: write))
            func add(_ keys: [[UInt8]], isRemoval: Bool) {
                // What leads to no entity has no id, and the number 0.
                batch.indexEntries += keys.map { key in
                    IndexEntryChange(
                        index: index.record.id, key: key, entity: EntityKey(whole: index.record.repository), number: 0,
                        isRemoval: isRemoval)
                }
            }
            add(rows.removed, isRemoval: true)
            add(rows.added, isRemoval: false)
        }
        noteArrays(arrays, in: &batch)
    }

    private func noteArrays(_ arrays: Set<IndexID>, in batch: inout WriteBatch) {
        for index in indexes.all where arrays.contains(index.record.id) && !index.record.hasArrays {
            if let known = batch.indexes.firstIndex(where: { $0.id == index.record.id }) {
                batch.indexes[known].hasArrays = true
            } else {
                var record = index.record
                record.hasArrays = true
                batch.indexes.append(record)
            }
        }
    }

    private static func ordered(_ entries: [IndexEntryChange]) -> [IndexEntryChange] {
        entries.sorted {
            $0.index == $1.index ? $0.key.lexicographicallyPrecedes($1.key) : $0.index < $1.index
        }
    }
}

/// How much a batch keeps in memory of keys, the new ones and the old. One that has too much is carried out anew, each
/// commit by itself; a commit that has too much alone is refused.
private struct IndexKeysSize {
    /// Unless the texts are more.
    let limit: Int

    private var keyBytes = 0
    private var bodyBytes = 0

    init(limit: Int) { self.limit = limit }

    mutating func add(_ keys: IndexKeys, of body: Int) throws(HoldfastError) {
        keyBytes += keys.byteCount
        bodyBytes += body
        // They stand in a set of the commit's and in the batch.
        try Memory.ask(for: 3 * keys.byteCount)
        guard keyBytes > max(bodyBytes, limit) else { return }
        throw HoldfastError(
            .invalidEntity,
            "the entities of the commit would have more than \(limit) bytes of keys in indexes, or had them before: "
                + "commit fewer at once, or drop an index")
    }
}
