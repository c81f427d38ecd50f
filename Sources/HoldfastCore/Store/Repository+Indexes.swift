public import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Indexes.
extension Repository {
    /// Creates an index, or goes on with one that was begun, and answers when queries use it. Commits go on meanwhile: they
    /// keep the index from the first moment, and what is there already is added in small pieces between them.
    ///
    /// `options` is as `hf_repository_create_index` describes it. `progress` is told the number of entities done after each
    /// piece, on this thread; answering false takes the index away again, and the call throws `.cancelled`.
    public func createIndex(
        _ options: UnsafeRawBufferPointer?, progress: (UInt64) -> Bool = { _ in true }
    ) throws(HoldfastError) {
        var reader = try OptionReader(json: options, what: "index options")
        let definition = try IndexDefinition(&reader)
        let name = try reader.text("name") ?? definition.defaultName
        try reader.finish()
        guard (1...128).contains(name.utf8.count), !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw HoldfastError(
                .invalidOption,
                "the name of an index must have 1 to 128 bytes without control characters: give \"name\"",
                detail: [("option", .text("name"))])
        }
        try store.requireWritable()
        while try !enter(name, definition, progress) {}
        store.services.indexCreated(definition)
    }

    /// Answers whether the index is there and ready. It is not where another takes away what this call was building: one
    /// that built it too and found that it cannot be, or whose progress said to stop, or one that drops it.
    private func enter(
        _ name: String, _ definition: IndexDefinition, _ progress: (UInt64) -> Bool
    ) throws(HoldfastError) -> Bool {
        // One that is being dropped, or was when its process ended.
        if let old = try indexRecords().first(where: { $0.name.utf8.elementsEqual(name.utf8) }), old.state == .dropping
        {
            try clear(old.id)
        }
        var entered: IndexID?
        do throws(HoldfastError) {
            let created = CatalogueChange.createIndex(repository: record.id, name: name, definition: definition)
            guard let record = try change(created)?.record else { return true }
            guard record.state == .building else { return try !renews(Index(record)) }
            entered = record.id
            try build(try Index(record), progress)
            return true
        } catch {
            switch error.status {
            // But not where it is the repository that is no more.
            case .notFound where !error.detail.contains { $0.name == "repository" }: return false
            // Of a store that is gone nothing can be taken away: what stays, a later call goes on with.
            case .closed, .forked: break
            // Half of an index would be kept by every commit, and a unique one refuse some. Where the storage does not
            // let go of it either, that is no news.
            default: if let entered { try? giveUp(entered) }
            }
            throw error
        }
    }

    /// Takes an index of an outdated kind away, so that it is built anew. But not a unique one: meanwhile nothing would
    /// be.
    private func renews(_ index: Index) throws(HoldfastError) -> Bool {
        guard index.definition.isOutdated else { return false }
        if index.definition.isUnique {
            store.diagnostics.warning(
                "the unique index \"\(index.record.name)\" is of a former kind: drop it and create it again",
                [("repository", .text(name)), ("index", .text(index.record.name))])
            return false
        }
        try drop(index.record.id)
        return true
    }

    /// What was there before the index was entered is read in snapshots, and nobody waits for that; the commits that add
    /// it are short, because its keys are in order by then. What changes meanwhile they leave out: whoever changes it
    /// enters it.
    private func build(_ index: Index, _ progress: (UInt64) -> Bool) throws(HoldfastError) {
        var done: UInt64 = 0
        var position: EntityID?
        var isLast = false
        var isOthers = false
        while !isLast {
            // While the snapshot is held, the committer remembers what has changed since.
            let added = try store.read { snapshot throws(HoldfastError) in
                if let text = index.definition.text {
                    let run = try TextRun(
                        index, text, of: record, after: position, in: snapshot, store.environment.limits)
                    (position, isLast) = (run.last ?? position, run.isLast)
                    return Result { () throws(HoldfastError) in try add(run, to: index.record, done, progress) }
                }
                let run = try IndexRun(index, of: record, after: position, in: snapshot, store.environment.limits)
                (position, isLast) = (run.last ?? position, run.isLast)
                return Result { () throws(HoldfastError) in try add(run, to: index.record, done, progress) }
            }
            guard let count = try added.get() else {
                isOthers = true
                break
            }
            done += count
        }
        // Before it is there, so that who says to stop now gets none either. What somebody else has built stays.
        guard progress(done) || isOthers else { throw Self.stopped }
        _ = try change(.finishIndex(index.record.id))
        // The pieces were not waited for, so that a store of many small pieces is built quickly.
        // It is there, so nobody is asked any more whether it is wanted.
        try Interrupt.silently { () throws(HoldfastError) in try store.makeDurable() }
    }

    private static let stopped = HoldfastError(
        .cancelled, "the index was not created: its progress callback said to stop")

    /// Answers how many entities the run was of, or nil where somebody else has built the index.
    private func add(
        _ run: consuming IndexRun, to index: IndexRecord, _ done: UInt64, _ progress: (UInt64) -> Bool
    ) throws(HoldfastError) -> UInt64? {
        var run = run
        while let piece = run.takePiece(of: index, store.environment.limits) {
            guard let state = try change(.buildIndex(index.id, piece)), !state.isDone else { return nil }
            try store.requireSameProcess()
            guard progress(done + UInt64(run.progress)) else { throw Self.stopped }
            try store.requireSameProcess()
            try Interrupt.look()
        }
        return UInt64(run.entityCount)
    }

    private func add(
        _ run: consuming TextRun, to index: IndexRecord, _ done: UInt64, _ progress: (UInt64) -> Bool
    ) throws(HoldfastError) -> UInt64? {
        var run = run
        while let text = try run.takePiece(store.environment.limits) {
            let piece = IndexPiece(sequence: run.sequence, hasArrays: false, text: text)
            guard let state = try change(.buildIndex(index.id, piece)), !state.isDone else { return nil }
            run.note(state.numbers)
            try store.requireSameProcess()
            guard progress(done + UInt64(run.progress)) else { throw Self.stopped }
            try store.requireSameProcess()
            try Interrupt.look()
        }
        return UInt64(run.entityCount)
    }

    /// Takes an index away. Queries stop using it at once; its entries are removed in small pieces between commits.
    public func dropIndex(_ name: String) throws(HoldfastError) {
        try store.requireWritable()
        guard let record = try indexRecords().first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
            throw HoldfastError(
                .notFound, "\(self.name) has no index \"\(name)\": see which it has",
                detail: [("repository", .text(self.name)), ("index", .text(name))])
        }
        try drop(record.id)
    }

    private func drop(_ index: IndexID) throws(HoldfastError) {
        _ = try retire(index)
        try clearAway(index)
    }

    /// Answers false where `onlyIfBuilding`, and it is ready by now: it stays, because somebody else was told that it is
    /// there.
    private func retire(_ index: IndexID, onlyIfBuilding: Bool = false) throws(HoldfastError) -> Bool {
        do throws(HoldfastError) {
            let before = try change(.retireIndex(index, onlyIfBuilding: onlyIfBuilding))?.record?.state
            return !(onlyIfBuilding && before == .ready)
        } catch  where error.status == .notFound { return true }
    }

    /// Takes away what was being built.
    private func giveUp(_ index: IndexID) throws(HoldfastError) {
        try anyhow { [self] () throws(HoldfastError) in
            if try retire(index, onlyIfBuilding: true) { try clear(index) }
        }
    }

    /// Who was told to end the call does not wait until all entries are gone: of an index that is retired nobody sees any.
    private func clearAway(_ index: IndexID) throws(HoldfastError) {
        try anyhow { [self] () throws(HoldfastError) in try clear(index) }
    }

    /// Does what is done all the same, by another thread, where this one is told to end the call meanwhile. It may have to
    /// wait for another program.
    private func anyhow(_ work: @escaping @Sendable () throws(HoldfastError) -> Void) throws(HoldfastError) {
        do throws(HoldfastError) {
            try Interrupt.whileAsking(store.environment.limits, work)
        } catch  where error.status == .cancelled {}
    }

    /// Several may do this at once.
    private func clear(_ index: IndexID) throws(HoldfastError) {
        do throws(HoldfastError) {
            while let piece = try change(.clearIndex(index)), !piece.isDone {}
        } catch  where error.status == .notFound {}
        try store.makeDurable()
    }

    private func change(_ change: CatalogueChange) throws(HoldfastError) -> IndexProgress? {
        let commit = Commit(change, isDurable: false)
        _ = try store.queue.commit(commit)
        return commit.indexProgress
    }

    func indexRecords() throws(HoldfastError) -> [IndexRecord] {
        try store.read { snapshot throws(HoldfastError) in
            try snapshot.indexes().filter { $0.repository == record.id }
        }
    }

    /// The repository's indexes as a JSON array, ordered by name.
    public func indexes() throws(HoldfastError) -> [UInt8] {
        try store.requireOpen()
        var writer = JSONWriter()
        writer.beginArray()
        for record in try indexRecords().sorted(by: { $0.name < $1.name }) {
            let index = try Index(record)
            writer.beginObject()
            writer.member("name", record.name)
            if let text = index.definition.text {
                text.write(to: &writer)
            } else {
                writer.member("fields")
                index.definition.write(to: &writer)
            }
            writer.member("unique", index.definition.isUnique)
            index.definition.writeExpiry(to: &writer)
            writer.member("state", record.state.name)
            writer.member("arrays", index.record.hasArrays || index.definition.isOutdated)
            if index.definition.isOutdated { writer.member("outdated", true) }
            writer.endObject()
        }
        writer.endArray()
        return writer.bytes
    }
}

extension IndexRecord.State {
    fileprivate var name: String {
        switch self {
        case .building: "building"
        case .ready: "ready"
        case .dropping: "dropping"
        }
    }
}
