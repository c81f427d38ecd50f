internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Stores what comes from elsewhere, in commits of some hundred entities, each of which is whole or not there.
///
/// With a name to resume under, each commit carries an idempotency key made of that name and of the position where it
/// begins. An import that is run again answers from the keys what was stored before, and stores the rest.
struct Importer {
    private let store: Store
    private let options: ImportOptions
    private let progress: Progress
    /// What `position` counts, for messages.
    private let unit: String
    /// Of repositories that come with the first of their entities: what comes to nothing leaves none behind.
    private var keys: [String: String] = [:]
    private var repositories: [String: Repository] = [:]
    /// The repository that the entities which wait go to, and where the first of them stood.
    private var current: Repository?
    private var begin: UInt64 { positions.first ?? 0 }
    private var waiting: [Write] = []
    /// Where each stood.
    private var positions: [UInt64] = []
    private var bytes = 0
    private var versions: [EntityKey: CommitSequence] = [:]
    /// Versions that no entity has had here, and that none will be given: they are kept.
    private var kept: ClosedRange<CommitSequence>?
    private(set) var read: UInt64 = 0
    private(set) var stored: UInt64 = 0
    private(set) var skipped: UInt64 = 0

    init(
        into store: Store, _ options: ImportOptions, of unit: String = "line", _ progress: @escaping Progress
    ) throws(HoldfastError) {
        try store.requireWritable()
        self.unit = unit
        self.store = store
        self.options = options
        self.progress = progress
    }

    /// From here on versions are kept, where the store has no entities yet. Commits that come later are greater than all of
    /// them. A store that is in use goes on from its own sequence: its commit log is kept by that, and who hears of commits
    /// later would have lost his place.
    mutating func keepVersions(through sequence: CommitSequence) throws(HoldfastError) {
        var note: EntityKey?
        if let name = options.resume {
            let id = EntityID(unchecked: Array("import/\(name)/\(sequence)".utf8))
            note = EntityKey(try store.openSystemRepository().record.id, id)
        }
        var before: CommitSequence?
        if sequence <= ExportLine.greatestKept, try store.head() < sequence, try isEmpty() {
            // Noted by the commit itself: before it, others may take the sequences for theirs.
            let commit = Commit(.advance(to: sequence, noting: note), isDurable: true)
            _ = try store.queue.commit(commit)
            before = commit.headBefore
        } else if let note {
            // One that goes on asks for what held when it began.
            before = try store.systemValue(of: note).map { CommitSequence(clamping: $0) }
        }
        kept = before.flatMap { $0 < sequence ? $0 + 1...sequence : nil }
    }

    private func isEmpty() throws(HoldfastError) -> Bool {
        try store.read { snapshot throws(HoldfastError) in
            var isEmpty = true
            for record in Catalogue.listed(try snapshot.repositories()) where isEmpty {
                try snapshot.scan(EntityScan(record.id, after: nil)) { _ in
                    isEmpty = false
                    return false
                }
            }
            return isEmpty
        }
    }

    /// Entities are to come that are kept under this key; nil: as the repository has it. One that is there is opened.
    mutating func expect(_ name: String, key: String? = nil) throws(HoldfastError) {
        var options = RepositoryOptions()
        options.key = key
        options.create = false
        do throws(HoldfastError) {
            repositories[name] = try store.repository(name, options: options)
        } catch {
            guard error.status == .notFound else { throw error }
            keys[name] = key ?? RepositoryOptions.standardKey
        }
    }

    /// Creates it where there is none.
    mutating func repository(_ name: String) throws(HoldfastError) -> Repository {
        if let known = repositories[name] { return known }
        var options = RepositoryOptions()
        options.key = keys[name]
        let opened = try store.repository(name, options: options)
        repositories[name] = opened
        return opened
    }

    /// That of an entity.
    private mutating func repository(_ name: String, for body: [UInt8], _ id: EntityID?) throws(HoldfastError)
        -> Repository
    {
        if repositories[name] == nil && keys[name] == nil { try expect(name) }
        if repositories[name] == nil {
            let (key, limits) = (keys[name]!, store.options.limits)
            try body.withBytes { bytes throws(HoldfastError) in
                let payload = try EntityPayload(bytes, key: key, limits: limits)
                try Self.require(id, toBe: payload.id, in: name)
            }
        }
        return try repository(name)
    }

    /// `named`: what stands beside an entity, where it does.
    private static func require(
        _ named: EntityID?, toBe own: EntityID?, in repository: String
    ) throws(HoldfastError) {
        guard let named, named != own else { return }
        throw HoldfastError(
            .invalidID,
            "the line names the id \"\(named.text)\", and its entity has \(own == nil ? "none" : "another"): it is damaged",
            detail: [("repository", .text(repository)), ("id", .text(named.text))])
    }

    /// Takes the entity into the next commit. `position` is its line or row.
    mutating func add(
        _ body: [UInt8], id: EntityID? = nil, version: CommitSequence? = nil, to name: String, at position: UInt64
    ) throws(HoldfastError) {
        let target = try repository(name, for: body, id)
        if current?.record.id != target.record.id { try flush() }
        if waiting.isEmpty { current = target }
        let precondition: Write.Precondition = options.existing == .replace ? .none : .absent
        let write = try body.withBytes { bytes throws(HoldfastError) in
            try target.put(bytes, precondition, assigning: true)
        }
        try Self.require(id, toBe: write.bodyBeforeAssignment == nil ? write.key.id : nil, in: name)
        // What replaces another may have to be newer than it.
        if let version, let kept, kept.contains(version), precondition == .absent { versions[write.key] = version }
        waiting.append(write)
        positions.append(position)
        bytes += write.size
        read += 1
        let limits = store.environment.limits
        if waiting.count >= limits.importEntities || bytes >= limits.importBytes { try flush() }
    }

    mutating func flush() throws(HoldfastError) {
        guard let target = current, !waiting.isEmpty else { return }
        let writes = waiting
        let key = options.resume.map { Array("import/\($0)/\(begin)".utf8) }
        (waiting, bytes, current) = ([], 0, nil)
        defer { (versions, positions) = ([:], []) }
        switch options.existing {
        case .skip: try storeMissing(writes, in: target, key: key)
        default:
            _ = try commit(writes, in: target, key: key)
            stored += UInt64(writes.count)
        }
        guard try store.report(progress, read, 0) else { throw Store.cancelled("the import was not finished") }
        try Interrupt.look()
    }

    /// Durable once `finish` returns.
    mutating func finish() throws(HoldfastError) {
        try flush()
        try store.sync()
    }

    private mutating func storeMissing(
        _ writes: [Write], in target: Repository, key: [UInt8]?
    ) throws(HoldfastError) {
        // The key stands for all of them, whichever of them were missing.
        let asked = key.map { _ in Fingerprint.of(writes) }
        if let key, let asked {
            let receipt = try located { () throws(HoldfastError) in try store.replay(key, of: asked) }
            if let receipt { return count(receipt.changeCount, of: writes) }
        }
        // Another may add one between the look and the commit.
        let all = positions
        while true {
            let missing = try store.read { snapshot throws(HoldfastError) in
                var missing: [Int] = []
                var taken: Set<EntityKey> = []
                for (index, write) in writes.enumerated() where try !snapshot.fetch(write.key, { _ in }) {
                    if taken.insert(write.key).inserted { missing.append(index) }
                }
                return missing
            }
            do throws(HoldfastError) {
                positions = missing.map { all[$0] }
                var stored = missing.count
                if stored > 0 {
                    let receipt = try commit(missing.map { writes[$0] }, in: target, key: key, asked: asked)
                    if receipt.isReplayed { stored = receipt.changeCount }
                }
                count(stored, of: writes)
                return
            } catch  where error.status == .exists {}
        }
    }

    private mutating func count(_ stored: Int, of writes: [Write]) {
        self.stored += UInt64(stored)
        skipped += UInt64(writes.count - stored)
    }

    /// `asked`: what the key stands for, where the writes are only a part of it.
    private func commit(
        _ writes: [Write], in target: Repository, key: [UInt8]?, asked: UInt64? = nil
    ) throws(HoldfastError) -> Receipt {
        try located { () throws(HoldfastError) in
            if target.isValidated {
                var transaction = TransactionOptions()
                transaction.isDurable = false
                transaction.idempotencyKey = key
                transaction.asked = asked
                return try store.transact(transaction) { transaction throws(HoldfastError) in
                    _ = try transaction.write(writes, wantsResults: false, repository: target.name)
                }
            }
            return try store.queue.commit(
                Commit(
                    writes: writes, isDurable: false, deadline: nil, idempotencyKey: key, asked: asked,
                    keptVersions: versions.isEmpty ? nil : versions))
        }
    }

    /// Lets an error tell where what it is about stood.
    private func located<Result>(_ body: () throws(HoldfastError) -> Result) throws(HoldfastError) -> Result {
        do throws(HoldfastError) { return try body() } catch { throw error.inImport(at: positions, unit) }
    }
}

extension HoldfastError {
    /// With the line, or row, of the write that it is about, or of the first.
    fileprivate func inImport(at positions: [UInt64], _ unit: String) -> HoldfastError {
        var index = 0
        for case ("index", .number(let number)) in detail { index = Int(clamping: number) }
        var error = self
        if status == .exists { error.message = Self.taken(detail) }
        return index < positions.count ? error.at(positions[index], unit) : error
    }

    /// The cure that an import has, which is another than that of a single write.
    private static func taken(_ detail: [(name: String, value: DetailValue)]) -> String {
        func text(_ name: String) -> String {
            for case (name, .text(let text)) in detail { return text }
            return ""
        }
        return
            "\(text("repository")) has \"\(text("id"))\" already: let the option \"existing\" say whether it is to be "
            + "replaced (\"replace\") or to stay (\"skip\")"
    }

    /// With the line, or row, where it was met, unless it tells that already.
    func at(_ position: UInt64, _ unit: String) -> HoldfastError {
        if detail.contains(where: { $0.name == "line" }) { return self }
        var error = self
        error.detail.append(("line", .number(position)))
        error.message = "\(unit) \(position): \(message)"
        return error
    }
}
