internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A batch on its way to the provider: all at once where it can, else one entity after the other, and back again if one fails.
final class ProviderWrite: StateWrite {
    let head: CommitSequence
    let changeToken: ChangeToken?

    private let storage: ProviderStorage
    private let isDurable: Bool
    var state: MemoryState
    private var versions: OrderedMap<EntityKey, CommitSequence>
    private let oldVersion: CommitSequence
    /// What the provider holds of the entities that were asked for.
    private var beforeImages: [EntityKey: [UInt8]?] = [:]
    private var hasWritten = false
    /// Puts back what the provider held before what it was given.
    private var undoing: [HostWrite] = []

    init(of storage: ProviderStorage, _ guarded: ProviderStorage.Guarded, isDurable: Bool) {
        self.storage = storage
        self.isDurable = isDurable
        state = guarded.state
        versions = guarded.versions
        oldVersion = guarded.oldVersion
        head = guarded.state.newestSequence
        changeToken = ProviderStorage.token(guarded)
    }

    // MARK: Reading

    /// Lends what is there, whole or damaged: so a damaged entity can be overwritten and deleted.
    func fetch(
        _ keys: [EntityKey], _ visit: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        for (index, key) in keys.enumerated() {
            guard let body = try beforeImage(of: key) else { continue }
            try key.id.bytes.withBytes { id throws(HoldfastError) in
                try body.withBytes { bytes throws(HoldfastError) in
                    try visit(index, EntityView(id: id, version: versions[key] ?? oldVersion, body: bytes))
                }
            }
        }
    }

    private func beforeImage(of key: EntityKey) throws(HoldfastError) -> [UInt8]? {
        if let known = beforeImages[key] { return known }
        let body = try storage.calls.fetch(name(of: key.repository), key.id)
        beforeImages[key] = .some(body)
        return body
    }

    private func name(of repository: RepositoryID) -> String {
        state.repositories.first { $0.id == repository }?.name ?? ""
    }

    // MARK: Writing

    func apply(_ batch: WriteBatch) throws(HoldfastError) {
        var others = batch
        others.changes = []
        state.apply(others)
        var before: [(key: EntityKey, body: [UInt8]?)] = []
        var writes: [HostWrite] = []
        for change in batch.changes {
            let repository = name(of: change.key.repository)
            let beforeImage = try beforeImage(of: change.key)
            before.append((change.key, beforeImage))
            writes.append(HostWrite(repository: repository, id: change.key.id, body: change.body))
            undoing.append(HostWrite(repository: repository, id: change.key.id, body: beforeImage))
        }
        for change in batch.changes { versions[change.key] = change.body == nil ? nil : change.version }
        if writes.isEmpty { return }
        let newest = state.newestSequence
        try storage.withGuarded { guarded in
            guarded.lastSequence = max(guarded.lastSequence, newest)
            guarded.beforeImages.begin(before)
        }
        hasWritten = true
        do throws(HoldfastError) {
            try storage.isAtomic ? applyAll(writes) : carryOutEach(writes)
            if isDurable { try storage.calls.sync() }
        } catch {
            var failure = error
            do throws(HoldfastError) { try undo() } catch {
                storage.loseTrack()
                failure.message += "; what was stored of the commit could not be taken back: \(error.message)"
                failure.commitState = .unknown
            }
            throw failure
        }
    }

    private func applyAll(_ writes: [HostWrite]) throws(HoldfastError) {
        do throws(HoldfastError) { try storage.calls.apply(writes) } catch {
            // Then it has stored nothing: that is what it promises.
            undoing = []
            throw error
        }
    }

    private func carryOutEach(_ writes: [HostWrite]) throws(HoldfastError) {
        for (index, write) in writes.enumerated() {
            do throws(HoldfastError) { try carryOut(write) } catch {
                // This one may have left something; those behind it have not been tried.
                undoing.removeSubrange((index + 1)...)
                throw error
            }
        }
    }

    private func carryOut(_ write: HostWrite) throws(HoldfastError) {
        if let body = write.body {
            try storage.calls.save(write.repository, write.id, body)
        } else {
            try storage.calls.delete(write.repository, write.id)
        }
    }

    /// Puts back what was there before, the last first. What is as it was, as the write that failed is as a rule, is left
    /// alone. One that cannot be put back does not keep the others from it.
    private func undo() throws(HoldfastError) {
        let undoing = undoing.reversed()
        self.undoing = []
        var needed: [HostWrite] = []
        for write in undoing {
            // What cannot be looked at is put back in any case.
            let found = Result { () throws(HoldfastError) in try storage.calls.fetch(write.repository, write.id) }
            if case .success(let body) = found, body == write.body { continue }
            needed.append(write)
        }
        if needed.isEmpty { return }
        if storage.isAtomic { return try storage.calls.apply(needed) }
        var failure: HoldfastError?
        for write in needed {
            do throws(HoldfastError) { try carryOut(write) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    // MARK: Its end

    func commit() throws(HoldfastError) -> WriteOutcome {
        .stored(storage.endWrite(hasWritten: hasWritten, publishing: (state, versions)))
    }

    func rollback() {
        do throws(HoldfastError) { try undo() } catch { storage.loseTrack() }
        _ = storage.endWrite(hasWritten: hasWritten, publishing: nil)
    }
}
