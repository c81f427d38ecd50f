internal import HoldfastEnvironment
package import HoldfastQuery
package import HoldfastStorage

/// What a commit does to the catalogue, instead of writing entities.
package enum CatalogueChange: Sendable {
    case createRepository(name: String, key: String)
    /// Takes its entities and its indexes away, and the repository from the catalogue.
    case dropRepository(name: String)
    case renameRepository(name: String, to: String)
    /// Every later commit is greater than this. What the library keeps under that id tells from now on after which commit
    /// nobody has had a sequence up to this one.
    case advance(to: CommitSequence, noting: EntityKey?)
    /// Enters an index, which every later commit keeps.
    case createIndex(repository: RepositoryID, name: String, definition: IndexDefinition)
    /// Adds entries of what was stored before.
    case buildIndex(IndexID, IndexPiece)
    /// All of what was stored before has its entries: queries may use the index.
    case finishIndex(IndexID)
    /// From here on no query uses the index, and no commit keeps it.
    case retireIndex(IndexID, onlyIfBuilding: Bool)
    /// Takes a piece of its entries away; with the last piece the index itself.
    case clearIndex(IndexID)

    /// Whether no other commit may be stored together with it: what it changes, they may have changed before it.
    var isAlone: Bool {
        switch self {
        case .dropRepository, .renameRepository: true
        default: false
        }
    }

    /// Whether storing it may take long, however little it is.
    var takesLong: Bool { if case .dropRepository = self { true } else { false } }

    var size: Int {
        switch self {
        case .buildIndex(_, let piece): 256 + piece.bytes + (piece.text?.bytes ?? 0)
        default: 256
        }
    }
}

/// What a change of an index has come to.
struct IndexProgress: Sendable {
    var record: IndexRecord?
    var isDone = false
    /// Those of a text index that entities have got.
    var numbers: [UInt64] = []
}

extension BatchCommitter {
    /// Answers what the commit log tells of it, with the texts of entities.
    func carryOut(
        _ change: CatalogueChange, of commit: Commit, as sequence: CommitSequence, in write: any StorageWrite,
        _ overlay: inout BatchOverlay, _ upkeep: inout IndexUpkeep
    ) throws(Refusal) -> (changes: [CommitLogEntry.Change], bodies: [[UInt8]?]) {
        switch change {
        case .createRepository(let name, let key):
            try createRepository(name, key: key, as: sequence, in: write, &overlay)
        case .dropRepository(let name):
            let record = try dropRepository(name, as: sequence, in: write, &overlay)
            for index in try known(in: write, overlay) where index.repository == record.id { overlay.remove(index.id) }
            return ([CommitLogEntry.Change(key: EntityKey(whole: record.id), isDeletion: true)], [nil])
        case .renameRepository(let name, let newName):
            let record = try renameRepository(name, to: newName, as: sequence, in: write, &overlay)
            return ([CommitLogEntry.Change(key: EntityKey(whole: record.id), isDeletion: false)], [[]])
        case .advance(_, let note):
            guard let note, let before = commit.headBefore else { break }
            // Others who go by the note were faster: what they have noted holds.
            if let noted = try noted(under: note, in: write, &overlay) {
                commit.headBefore = noted
                break
            }
            let text = Store.systemEntity(note.id.text, Int64(clamping: before))
            return ([CommitLogEntry.Change(key: note, isDeletion: false)], [text])
        case .createIndex(let repository, let name, let definition):
            let known = try known(in: write, overlay).first {
                // By its bytes, as it is stored: Swift takes texts for equal that are written otherwise.
                $0.repository == repository && $0.name.utf8.elementsEqual(name.utf8)
            }
            if let known {
                if known.state == .dropping { throw Self.isGoing }
                guard try isSame(known, definition) else {
                    throw .member(
                        HoldfastError(
                            .exists,
                            "there is an index \"\(name)\" of another kind: drop it first, or give the new one another name",
                            detail: [("index", .text(name))]))
                }
                commit.indexProgress = IndexProgress(record: known)
            } else {
                try refuseSecondText(definition, in: repository, as: self.known(in: write, overlay))
                if let record = try revival(of: repository, as: sequence, overlay) { overlay.set(record) }
                let record = IndexRecord(
                    id: IndexID(clamping: sequence), repository: repository, name: name, definition: definition.json)
                overlay.set(record)
                commit.indexProgress = IndexProgress(record: record)
            }
        case .buildIndex(let id, let piece):
            let record = try growing(id, in: write, overlay)
            // Another that builds it may have been faster.
            commit.indexProgress = IndexProgress(isDone: record.state == .ready)
            if record.state == .building {
                commit.indexProgress?.numbers = try add(piece, to: record, in: write, &upkeep)
            }
        case .finishIndex(let id):
            var record = try growing(id, in: write, overlay)
            guard record.state == .building else { break }
            record.state = .ready
            overlay.set(record)
        case .retireIndex(let id, let onlyIfBuilding):
            var record = try index(id, in: write, overlay)
            commit.indexProgress = IndexProgress(record: record)
            if onlyIfBuilding && record.state == .ready { break }
            record.state = .dropping
            overlay.set(record)
        case .clearIndex(let id):
            _ = try index(id, in: write, overlay)
            let isDone: Bool
            // Few enough that commits in the same queue hardly notice.
            do { isDone = try write.removeEntries(of: id, limit: environment.limits.clearedIndexEntries) } catch {
                throw .storage(error)
            }
            if isDone { overlay.remove(id) }
            commit.indexProgress = IndexProgress(isDone: isDone)
        }
        return ([], [])
    }

    /// What a commit has noted when it advanced the sequence.
    private func noted(
        under note: EntityKey, in write: any StorageWrite, _ overlay: inout BatchOverlay
    ) throws(Refusal) -> CommitSequence? {
        var body = overlay.change(of: note)?.body
        if body == nil {
            do throws(HoldfastError) {
                try write.fetch([note]) { _, view in body = Array(view.body) }
            } catch { throw .storage(error) }
        }
        guard let body else { return nil }
        do throws(HoldfastError) {
            return CommitSequence(
                clamping: try body.withBytes { body throws(HoldfastError) in try Store.systemValue(in: body) })
        } catch { throw .member(error) }
    }

    /// Whether an index is what one of this definition would be, of whatever kind its entries are.
    private func isSame(_ record: IndexRecord, _ definition: IndexDefinition) throws(Refusal) -> Bool {
        do throws(HoldfastError) { return try Index(record).definition.renewed == definition } catch {
            throw .member(error)
        }
    }

    /// A filter says which words, not in which index.
    private func refuseSecondText(
        _ definition: IndexDefinition, in repository: RepositoryID, as known: [IndexRecord]
    ) throws(Refusal) {
        guard definition.text != nil else { return }
        let other = known.first {
            $0.repository == repository && $0.state != .dropping && (try? IndexDefinition($0.definition))?.text != nil
        }
        guard let other else { return }
        throw .member(
            HoldfastError(
                .exists,
                "there is a text index already, \"\(other.name)\", and a repository has one: drop it first, and create one "
                    + "over the paths of both",
                detail: [("index", .text(other.name))]))
    }

    /// The catalogue as this batch stands.
    private func known(in write: any StorageWrite, _ overlay: BatchOverlay) throws(Refusal) -> [IndexRecord] {
        let stored: [IndexRecord]
        do { stored = try write.indexes() } catch { throw .storage(error) }
        return overlay.indexes
            + stored.filter { record in
                !overlay.removedIndexes.contains(record.id) && !overlay.indexes.contains { $0.id == record.id }
            }
    }

    private func index(
        _ id: IndexID, in write: any StorageWrite, _ overlay: BatchOverlay
    ) throws(Refusal) -> IndexRecord {
        if let record = try known(in: write, overlay).first(where: { $0.id == id }) { return record }
        throw .member(HoldfastError(.notFound, "the index was dropped meanwhile: create it again"))
    }

    /// One that is being built, or is. Who builds beside another may find that the other has taken it away again.
    private func growing(
        _ id: IndexID, in write: any StorageWrite, _ overlay: BatchOverlay
    ) throws(Refusal) -> IndexRecord {
        let record = try index(id, in: write, overlay)
        if record.state == .dropping { throw Self.isGoing }
        return record
    }

    private static var isGoing: Refusal {
        .member(HoldfastError(.notFound, "the index is being dropped: create it again"))
    }

    /// Adds the entries of those entities that have not changed since the snapshot in which they were read.
    private func add(
        _ piece: IndexPiece, to record: IndexRecord, in write: any StorageWrite, _ upkeep: inout IndexUpkeep
    ) throws(Refusal) -> [UInt64] {
        func isCurrent(
            _ entities: [EntityKey], _ versions: [CommitSequence]
        ) throws(HoldfastError) -> [Bool] {
            if recent.covers(piece.sequence) {
                return entities.map { recent.changes.lastWrite($0) <= piece.sequence }
            }
            var isCurrent = [Bool](repeating: false, count: entities.count)
            try write.fetch(entities) { number, view in isCurrent[number] = view.version == versions[number] }
            return isCurrent
        }
        let index: Index
        let isAdded: [Bool]
        do throws(HoldfastError) {
            index = try Index(record)
            if let text = piece.text { return try upkeep.build(index, text, in: write, isCurrent) }
            isAdded = try isCurrent(piece.entries.map(\.entity), piece.versions)
        } catch { throw .storage(error) }
        for (entry, isAdded) in zip(piece.entries, isAdded) where isAdded {
            try upkeep.build(index, entry, in: write)
        }
        if piece.hasArrays { upkeep.noteArrays(in: record.id) }
        return []
    }
}
