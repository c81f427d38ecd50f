internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What the provider held at one moment: what it holds now, with what commits have changed since put back.
final class ProviderSnapshot: StorageSnapshot {
    struct View: Sendable {
        var state: MemoryState
        var versions: OrderedMap<EntityKey, CommitSequence>
        var oldVersion: CommitSequence
        var epoch: UInt64
        /// See `BeforeImages`.
        var firstUnseen: UInt64

        func version(of key: EntityKey) -> CommitSequence { versions[key] ?? oldVersion }

        func repository(_ id: RepositoryID) -> RepositoryRecord? { state.repositories.first { $0.id == id } }
    }

    let sequence: CommitSequence
    let changeToken: ChangeToken?

    private let storage: ProviderStorage
    private let view: Lock<View?>
    /// What a scan that was ended early leaves for the one that goes on: asking the provider for everything again and again
    /// would make a walk in pieces take a time that grows with the square of their number.
    private let rests = Lock<[Listing]>([])

    private struct Listing: Sendable {
        var repository: RepositoryID
        /// What the provider was asked for; nil: everything.
        var filter: JSONValue?
        /// Ordered by id, each once.
        var entities: [(id: EntityID, body: [UInt8])]
        var duplicate: EntityID?
    }

    init(of storage: ProviderStorage, _ view: View, token: ChangeToken) {
        self.storage = storage
        sequence = view.state.newestSequence
        changeToken = token
        self.view = Lock(view)
    }

    deinit { close() }

    func close() {
        let view = view.withLock { $0.take() }
        rests.withLock { $0 = [] }
        if let view { storage.endSnapshot(view) }
    }

    // MARK: Entities

    func fetch(
        _ key: EntityKey, _ visit: (EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        let view = try current()
        guard let repository = view.repository(key.repository) else { return false }
        var body: [UInt8]?
        if let image = try beforeImage(of: key, view) {
            body = image.body
        } else {
            body = try storage.calls.fetch(repository.name, key.id)
            // A commit may have changed it before it was read.
            if let image = try beforeImage(of: key, view) { body = image.body }
        }
        guard let body else { return false }
        try storage.lend(body, key.id, version: view.version(of: key), in: repository, visit)
        return true
    }

    /// Nil where the provider still holds what the snapshot shows.
    private func beforeImage(of key: EntityKey, _ view: View) throws(HoldfastError) -> BeforeImages.Image? {
        try storage.withGuarded { (guarded) throws(HoldfastError) in
            try requireCurrent(guarded)
            return guarded.beforeImages.image(of: key, since: view.firstUnseen)
        }
    }

    func scan(_ scan: EntityScan, _ visit: (EntityView) throws(HoldfastError) -> Bool) throws(HoldfastError) {
        if let id = scan.onlyID {
            _ = try fetch(EntityKey(scan.repository, id)) { view throws(HoldfastError) in _ = try visit(view) }
            return
        }
        let view = try current()
        guard let record = view.repository(scan.repository) else { return }
        // Without the ability the provider is asked for everything whatever is sought.
        let asked = storage.calls.abilities.contains(.find) && !scan.filter.isAll ? scan.filter.source : nil
        let kept = scan.range == .all ? nil : takeRest(of: scan.repository, asked)
        var listing = if let kept { kept } else { try list(record, filter: scan.filter, view) }
        listing.filter = asked
        let found = Self.places(in: scan.range, of: listing.entities)
        for place in scan.isReversed ? AnySequence(found.reversed()) : AnySequence(found) {
            let (id, body) = listing.entities[place]
            if id == listing.duplicate {
                throw ProviderStorage.corrupt(record.name, id, "it was given twice")
            }
            let version = view.version(of: EntityKey(scan.repository, id))
            guard try storage.lend(body, id, version: version, in: record, visit) else { return keepRest(listing) }
        }
    }

    /// The provider gives all, or one.
    var seeksIDs: Bool { false }

    /// What is left of an earlier scan of the same, which takes it out.
    private func takeRest(of repository: RepositoryID, _ filter: JSONValue?) -> Listing? {
        rests.withLock { rests in
            rests.firstIndex { $0.repository == repository && $0.filter == filter }.map { rests.remove(at: $0) }
        }
    }

    /// Several scans may take turns on a snapshot. Of those whose listing went, each asks the provider again.
    private func keepRest(_ listing: Listing) {
        let limit = storage.listingLimit
        rests.withLock { rests in
            if rests.count >= limit { rests.removeFirst(rests.count - limit + 1) }
            rests.append(listing)
        }
    }

    private func list(
        _ repository: RepositoryRecord, filter: Filter, _ view: View
    ) throws(HoldfastError) -> Listing {
        var entities = try storage.calls.fetchAll(repository.name, filter: filter)
        // Whatever it shows of commits since was noted before they began.
        let images = try storage.withGuarded { (guarded) throws(HoldfastError) in
            try requireCurrent(guarded)
            return guarded.beforeImages.all(of: repository.id, since: view.firstUnseen)
        }
        if !images.isEmpty {
            entities.removeAll { images[$0.id] != nil }
            for (id, image) in images { if let body = image.body { entities.append((id, body)) } }
        }
        let isOrdered = zip(entities, entities.dropFirst()).allSatisfy { $0.id < $1.id }
        var listing = Listing(repository: repository.id, entities: entities)
        if !isOrdered {
            listing.entities.sort { $0.id < $1.id }
            listing.duplicate = zip(listing.entities, listing.entities.dropFirst()).first { $0.id == $1.id }?.0.id
        }
        return listing
    }

    private static func places(in range: KeyRange, of entities: [(id: EntityID, body: [UInt8])]) -> Range<Int> {
        let (lower, upper) = (EntityID(unchecked: range.lower), EntityID(unchecked: range.upper))
        let start = entities.partitioningIndex { $0.id >= lower }
        return start..<max(start, entities.partitioningIndex { $0.id >= upper })
    }

    // MARK: What the process keeps

    func indexes() throws(HoldfastError) -> [IndexRecord] { try current().state.indexes }

    func scan(
        _ scan: IndexScan, _ visit: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try current().state.walk(scan) { (entry) throws(HoldfastError) in
            var goesOn = true
            try entry.key.withBytes { key throws(HoldfastError) in
                if scan.parts != .key {
                    // Some lead to no entity.
                    if entry.id.bytes.isEmpty { return }
                    _ = try fetch(EntityKey(scan.repository, entry.id)) { view throws(HoldfastError) in
                        goesOn = try visit(key, view)
                    }
                } else {
                    goesOn = try entry.id.bytes.withBytes { id throws(HoldfastError) in
                        try visit(key, EntityView(id: id, number: 0))
                    }
                }
            }
            return goesOn
        }
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        try current().state.commitLog(after: sequence, limit: limit)
    }

    /// The provider may have any ids.
    func repositories() throws(HoldfastError) -> [RepositoryRecord] {
        try current().state.repositories.map { record in
            var record = record
            record.idsAreTexts = false
            return record
        }
    }

    func commitLogStart() throws(HoldfastError) -> CommitSequence { try current().state.commitLogBegins }

    func idempotencyRecord(_ key: [UInt8]) throws(HoldfastError) -> IdempotencyRecord? {
        try current().state.idempotencyRecord(key)
    }

    // MARK: Its end

    private func current() throws(HoldfastError) -> View {
        guard let view = view.withLock({ $0 }) else { throw Self.ended }
        return view
    }

    /// Once it is closed, what it needs of the past may be gone.
    private func requireCurrent(_ guarded: ProviderStorage.Guarded) throws(HoldfastError) {
        guard let view = view.withLock({ $0 }) else { throw Self.ended }
        guard view.epoch == guarded.epoch else { throw guarded.isClosed ? HoldfastError.storeClosed : Self.ended }
    }

    private static let ended = HoldfastError(.io, "the snapshot has ended: begin another")
}
