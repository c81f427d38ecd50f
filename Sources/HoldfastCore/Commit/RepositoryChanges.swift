internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What commits do to the catalogue of repositories.
///
/// A repository that is dropped stays in it, as one that is not there, with its number and its name: so handles of it stay
/// good, in whatever process, and it is the same one when it is created anew or something is stored in it. Where another
/// takes the name, by being renamed or created with another key, it is hidden under a name that nobody can ask for, and
/// nothing can be stored in it any more.
extension BatchCommitter {
    func createRepository(
        _ name: String, key: String, as sequence: CommitSequence, in write: any StorageWrite,
        _ overlay: inout BatchOverlay
    ) throws(Refusal) {
        let known = try repositories(in: write, overlay)
        if var same = Self.find(name, in: known) {
            guard same.isDropped else { throw Self.exists(same) }
            if same.name.utf8.elementsEqual(name.utf8) && same.key.utf8.elementsEqual(key.utf8) {
                (same.isDropped, same.changed) = (false, sequence)
                return overlay.set(same)
            }
            try hide(same, as: sequence, in: write, &overlay)
        }
        let newest = known.map(\.id).max() ?? 0
        guard newest < RepositoryID.max else {
            throw .member(HoldfastError(.corrupt, "the catalogue of repositories is damaged: restore a backup"))
        }
        var record = RepositoryRecord(id: newest + 1, name: name, key: key)
        record.idsAreTexts = true
        overlay.set(record)
    }

    func dropRepository(
        _ name: String, as sequence: CommitSequence, in write: any StorageWrite, _ overlay: inout BatchOverlay
    ) throws(Refusal) -> RepositoryRecord {
        var record = try present(name, in: repositories(in: write, overlay))
        (record.isDropped, record.changed, record.idsAreTexts) = (true, sequence, true)
        overlay.set(record)
        return record
    }

    func renameRepository(
        _ name: String, to newName: String, as sequence: CommitSequence, in write: any StorageWrite,
        _ overlay: inout BatchOverlay
    ) throws(Refusal) -> RepositoryRecord {
        let known = try repositories(in: write, overlay)
        var record = try present(name, in: known)
        if let holder = Self.find(newName, in: known) {
            if holder.isDropped {
                try hide(holder, as: sequence, in: write, &overlay)
            } else if holder.id != record.id || holder.name.utf8.elementsEqual(newName.utf8) {
                throw Self.exists(holder)
            }
        }
        try rename(&record, to: newName, as: sequence, in: write)
        overlay.set(record)
        return record
    }

    /// A repository that was dropped as it is once something is stored in it again; nil where it was not.
    func revival(
        of repository: RepositoryID, as sequence: CommitSequence, _ overlay: BatchOverlay
    ) throws(Refusal) -> RepositoryRecord? {
        guard
            var record = overlay.repositories.first(where: { $0.id == repository }) ?? droppedRepositories[repository],
            record.isDropped
        else { return nil }
        if Catalogue.isReserved(record.name) {
            let name = record.formerNames.last?.name ?? record.name
            throw .member(
                HoldfastError(
                    .notFound, "the repository \"\(name)\" was dropped, and another has its name: open it anew",
                    detail: [("repository", .text(name))]))
        }
        (record.isDropped, record.changed) = (false, sequence)
        return record
    }

    /// Notes of repositories in which all ids were texts where the batch stores an entity whose id is a number.
    func noteNumbers(in batch: inout WriteBatch, _ known: [RepositoryRecord]) {
        var looked: (record: RepositoryRecord, check: EntityCheck)?
        for change in batch.changes {
            guard let body = change.body, change.key.id.mayBeNumber else { continue }
            if looked?.record.id != change.key.repository {
                let record = (batch.repositories + known).first { $0.id == change.key.repository }
                looked = record.map { ($0, EntityCheck($0)) }
            }
            guard let record = looked?.record, record.idsAreTexts, looked!.check.hasNumber(change.key.id, body)
            else { continue }
            looked!.record.idsAreTexts = false
            batch.repositories.removeAll { $0.id == record.id }
            batch.repositories.append(looked!.record)
        }
    }

    // MARK: Names

    /// The catalogue as this batch stands.
    private func repositories(
        in write: any StorageWrite, _ overlay: BatchOverlay
    ) throws(Refusal) -> [RepositoryRecord] {
        let stored: [RepositoryRecord]
        do { stored = try write.repositories() } catch { throw .storage(error) }
        return overlay.repositories + stored.filter { one in !overlay.repositories.contains { $0.id == one.id } }
    }

    /// Names that differ only in case name one repository.
    private static func find(_ name: String, in known: [RepositoryRecord]) -> RepositoryRecord? {
        known.first { $0.name.lowercased() == name.lowercased() }
    }

    private func present(_ name: String, in known: [RepositoryRecord]) throws(Refusal) -> RepositoryRecord {
        if let record = Self.find(name, in: known), !record.isDropped {
            if record.name.utf8.elementsEqual(name.utf8) { return record }
            throw .member(
                HoldfastError(
                    .notFound, "the store has no repository \"\(name)\", but one \"\(record.name)\": write its name so",
                    detail: [("repository", .text(name))]))
        }
        throw .member(
            HoldfastError(
                .notFound, "the store has no repository \"\(name)\": see which it has",
                detail: [("repository", .text(name))]))
    }

    private static func exists(_ record: RepositoryRecord) -> Refusal {
        .member(
            HoldfastError(
                .exists, "there is a repository \"\(record.name)\" already: drop it first, or take another name",
                detail: [("repository", .text(record.name))]))
    }

    /// Another takes the name of one that was dropped.
    private func hide(
        _ record: RepositoryRecord, as sequence: CommitSequence, in write: any StorageWrite,
        _ overlay: inout BatchOverlay
    ) throws(Refusal) {
        var record = record
        try rename(&record, to: Catalogue.hidden(record.id), as: sequence, in: write)
        overlay.set(record)
    }

    /// Notes the former name for as long as the commit log tells of commits that were made under it.
    private func rename(
        _ record: inout RepositoryRecord, to name: String, as sequence: CommitSequence, in write: any StorageWrite
    ) throws(Refusal) {
        let known = record.formerNames
        let needed: Int
        do throws(HoldfastError) {
            needed = try known.search { former throws(HoldfastError) in
                try write.commitLog(after: former.through, limit: 1) == nil ? 1 : -1
            }.index
        } catch { throw .storage(error) }
        record.formerNames = known[needed...] + [RepositoryRecord.FormerName(record.name, through: sequence)]
        (record.name, record.changed) = (name, sequence)
    }
}

/// Those repositories in the catalogue that were dropped. Looked for anew only when it has changed.
struct DroppedRepositories {
    private var known: [RepositoryRecord] = []
    private var byID: [RepositoryID: RepositoryRecord] = [:]

    var isEmpty: Bool { byID.isEmpty }

    subscript(repository: RepositoryID) -> RepositoryRecord? { byID[repository] }

    /// Answers whether the catalogue has changed.
    mutating func update(to newest: [RepositoryRecord]) -> Bool {
        if newest == known { return false }
        known = newest
        byID = [:]
        for record in newest where record.isDropped { byID[record.id] = record }
        return true
    }
}
