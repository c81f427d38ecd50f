public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Holding what is stored against what it must be.
extension Repository {
    /// Walks every entity and every index of the repository on one snapshot, and reports as `hf_repository_verify` describes.
    public func verify() throws(HoldfastError) -> [UInt8] {
        try store.requireOpen()
        var writer = JSONWriter()
        try RepositoryReport(of: self) { _ in true }.write(to: &writer)
        return writer.bytes
    }
}

/// What was found in one repository.
struct RepositoryReport {
    /// So many damaged entities are named, as `hf_repository_verify` promises.
    private static let namedIDs = 100

    let name: String
    private(set) var entities: UInt64 = 0
    /// How many entities cannot be read, or are stored under another id than their own.
    private var damaged: UInt64 = 0
    private var damagedIDs: [String] = []
    /// Why not all could be looked at.
    private var failure: String?
    private var checks: [IndexCheck] = []

    init(
        of repository: Repository, _ progress: (UInt64) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        self.init(named: repository.name)
        // The host may take long in `progress`. Where the snapshot has to be given back because of that, all is looked at
        // anew, and without pauses.
        let isDone = try withSnapshot(of: repository.store) { report, read throws(HoldfastError) in
            repository.store.longReads.add(read)
            defer { repository.store.longReads.remove(read) }
            try report.look(at: repository, on: read) { done throws(HoldfastError) in
                let goesOn = try progress(done)
                if repository.store.storage.isWriteAheadLogTooLong { read.takeBack() }
                return goesOn
            }
        }
        if isDone { return }
        self = RepositoryReport(named: name)
        _ = try withSnapshot(of: repository.store) { report, read throws(HoldfastError) in
            try report.look(at: repository, on: read) { _ in true }
        }
        guard try progress(entities) else { throw Self.cancelled }
    }

    private init(named name: String) { self.name = name }

    /// Answers whether the snapshot was there to the end.
    private mutating func withSnapshot(
        of store: Store, _ body: (inout RepositoryReport, LongRead) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        let read = LongRead(try store.beginSnapshot())
        defer { if !store.isForeign { read.snapshot.close() } }
        do throws(HoldfastError) {
            try body(&self, read)
            return true
        } catch {
            guard read.isTaken, !store.isForeign else { throw error }
            try store.requireOpen()
            return false
        }
    }

    private static let cancelled = Store.cancelled("the store was not verified")

    private mutating func look(
        at repository: Repository, on read: LongRead, _ progress: (UInt64) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        let snapshot = read.snapshot
        for record in try snapshot.indexes().sorted(by: { $0.name < $1.name })
        where record.repository == repository.record.id && record.state == .ready {
            do throws(HoldfastError) { checks.append(IndexCheck(index: try Index(record))) } catch {
                guard error.status == .corrupt else { throw error }
                failure = error.message
            }
        }
        let check = repository.check
        let piece = UInt64(repository.store.environment.limits.verifiedEntities)
        do throws(HoldfastError) {
            var last: EntityID?
            var isFinished = false
            while !isFinished {
                isFinished = true
                var pace = Interrupt.Pace()
                try snapshot.scan(EntityScan(repository.record.id, after: last)) { view in
                    look(at: view, check)
                    let isOver = pace.isOver(view.body.count)
                    // Behind what has no id nobody could go on.
                    guard isOver || entities % piece == 0, !view.id.isEmpty else { return true }
                    last = EntityID(unchecked: Array(view.id))
                    isFinished = false
                    return false
                }
                // Not while the storage lends: the host's code runs here.
                guard try progress(entities) else { throw Self.cancelled }
                try Interrupt.look()
            }
            for number in checks.indices { try checks[number].walk(on: snapshot) }
        } catch {
            guard error.status == .corrupt else { throw error }
            failure = error.message
        }
    }

    private mutating func look(at view: EntityView, _ check: EntityCheck) {
        entities += 1
        if !check.isSound(view) { note(view.id) }
        for number in checks.indices { checks[number].expect(view) }
    }

    private mutating func note(_ id: UnsafeRawBufferPointer) {
        damaged += 1
        if damagedIDs.count < Self.namedIDs { damagedIDs.append(String(decoding: id, as: UTF8.self)) }
    }

    var isOK: Bool { damaged == 0 && failure == nil && checks.allSatisfy(\.isOK) }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("ok", isOK)
        writer.member("name", name)
        writer.member("entities", entities)
        writer.member("damaged", damaged)
        writer.member("damaged_ids", each: damagedIDs) { writer, id in writer.string(id) }
        if let failure { writer.member("failure", failure) }
        writer.member("indexes", each: checks) { writer, check in check.write(to: &writer) }
        writer.endObject()
    }
}

/// One index.
private struct IndexCheck {
    /// Entries, whatever their order: how many, and the sum of their hashes.
    private struct Tally: Equatable {
        var count: UInt64 = 0
        var sum: UInt64 = 0

        mutating func add(_ key: UnsafeRawBufferPointer, _ entity: EntityView) {
            add(IndexCheck.hash(key, entity.id, entity.number))
        }

        mutating func add(_ hash: Int) {
            sum &+= UInt64(bitPattern: Int64(hash))
            count += 1
        }
    }

    let index: Index
    /// An index of an outdated kind is held to what it should be.
    private let definition: IndexDefinition
    private var expected = Tally()
    private var found = Tally()
    private var right: UInt64 = 0

    init(index: Index) {
        self.index = index
        definition = index.definition.renewed
    }

    var isOK: Bool { found == expected }

    private static func hash(_ key: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, _ number: Int64) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: key)
        hasher.combine(key.count)
        hasher.combine(bytes: id)
        hasher.combine(number)
        return hasher.finalize()
    }

    mutating func expect(_ view: EntityView) {
        for hash in hashes(of: view) { expected.add(hash) }
    }

    /// Those of an entity's entries. What a text index has of it tells nothing of its number in the storage.
    private func hashes(of view: EntityView) -> [Int] {
        let keys = (try? IndexKeys(of: view.body, for: definition))?.keys ?? []
        let number = definition.text == nil ? view.number : 0
        return keys.map { key in key.withBytes { Self.hash($0, view.id, number) } }
    }

    mutating func walk(on snapshot: any StorageSnapshot) throws(HoldfastError) {
        if definition.text != nil { return try walkText(on: snapshot) }
        var scan = IndexScan(
            index: index.record.id, repository: index.record.repository, range: .all, parts: .key)
        var found = Tally()
        try snapshot.scanAsking(scan) { key, view in
            found.add(key, view)
            return true
        }
        self.found = found
        // Only an index that is not right is held against its entities one by one: that takes the keys of an entity for
        // each of its entries.
        if found == expected {
            right = found.count
            return
        }
        scan.parts = .keyAndEntity
        var right: UInt64 = 0
        try snapshot.scanAsking(scan) { key, view in
            let keys = (try? IndexKeys(of: view.body, for: definition))?.keys ?? []
            if keys.contains(where: { $0.elementsEqual(key) }) { right += 1 }
            return true
        }
        self.right = right
    }

    private mutating func walkText(on snapshot: any StorageSnapshot) throws(HoldfastError) {
        let walk = TextIndexWalk(index, on: snapshot)
        var found = Tally()
        try walk.visit { key, id in found.add(Self.hash(key, id, 0)) }
        self.found = found
        if found == expected {
            right = found.count
            return
        }
        var expected: Set<Int> = []
        try snapshot.scanAsking(index.record.repository, after: nil) { view throws(HoldfastError) in
            let hashes = hashes(of: view)
            try Memory.ask(for: 32 * hashes.count)
            expected.formUnion(hashes)
            return true
        }
        var right: UInt64 = 0
        try walk.visit { key, id in if expected.remove(Self.hash(key, id, 0)) != nil { right += 1 } }
        self.right = right
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", index.record.name)
        writer.member("entries", found.count)
        writer.member("wrong", found.count - right)
        writer.member("missing", expected.count > right ? expected.count - right : 0)
        writer.endObject()
    }
}
