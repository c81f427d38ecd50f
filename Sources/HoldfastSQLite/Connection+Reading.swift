import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What snapshots and write transactions read alike.
extension Connection {
    /// The newest sequence in the commit log, 0 for none.
    func head() throws(HoldfastError) -> CommitSequence {
        let statement = try statement(.head)
        defer { statement.reset() }
        guard try statement.step() else { return 0 }
        if statement.isNull(0) { return 0 }
        guard let head = statement.integer(0).flatMap(CommitSequence.init(exactly:)) else { throw corrupt("the log") }
        return head
    }

    func fetch(
        _ key: EntityKey, _ body: (EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        do throws(HoldfastError) {
            return try key.id.bytes.withBytes { id throws(HoldfastError) in
                let statement = try statement(.fetch)
                defer { statement.reset() }
                try statement.bind(1, key.repository)
                try statement.bind(2, text: id)
                guard try statement.step() else { return false }
                try body(statement.entity(id, version: 0, text: 1))
                return true
            }
        } catch {
            throw naming(key.repository, key.id.text, error)
        }
    }

    func scan(_ scan: EntityScan, _ body: (EntityView) throws(HoldfastError) -> Bool) throws(HoldfastError) {
        guard let cached = scan.cached, scan.behindNumber == nil else { return try walk(scan, body) }
        let noKey = UnsafeRawBufferPointer(start: nil, count: 0)
        var lookup = CachedLookup(cached, ofWhatIsThere: false)
        try walk(scan, idsAlone: true) { entry throws(HoldfastError) in
            try lookup.lend(noKey, entry, on: self, to: body)
        }
        guard let behind = lookup.behind, let range = scan.range.rest(behind: behind.id, isReversed: scan.isReversed)
        else { return }
        var rest = scan
        rest.range = range
        try walk(rest, body)
    }

    /// With `idsAlone` entities are lent without their texts.
    private func walk(
        _ scan: EntityScan, idsAlone: Bool = false, _ body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        var last = ""
        let pagesBefore = pageBytes
        var isPiece = false
        // Behind the statement, whose pages cannot be let go while it runs.
        defer { if isPiece { endPiece(before: pagesBefore) } }
        do throws(HoldfastError) {
            try scan.range.lower.withBytes { lower throws(HoldfastError) in
                try scan.range.upper.withBytes { upper throws(HoldfastError) in
                    let bounds = Query.Bounds(scan.range)
                    let statement = try statement(
                        scan.behindNumber == nil
                            ? .scan(bounds, isReversed: scan.isReversed, idsAlone: idsAlone) : .scanRows)
                    defer { statement.reset() }
                    try statement.bind(1, scan.repository)
                    if let number = scan.behindNumber {
                        try statement.bind(2, number)
                    } else {
                        if bounds != .none { try statement.bind(2, text: lower) }
                        if bounds == .both { try statement.bind(3, text: upper) }
                    }
                    while try statement.step() {
                        // One that is no text is as good as none.
                        let id = statement.text(0) ?? UnsafeRawBufferPointer(start: nil, count: 0)
                        guard let number = statement.integer(1) else {
                            last = String(decoding: id, as: UTF8.self)
                            throw corrupt("a record")
                        }
                        let view =
                            idsAlone
                            ? EntityView(id: id, number: number)
                            : statement.entity(id, version: 2, text: 3, number: number)
                        guard try body(view) else {
                            isPiece = true
                            return
                        }
                    }
                }
            }
        } catch {
            throw naming(scan.repository, last, error)
        }
    }

    /// As `StorageSnapshot.readsFasterAsItLies`: by their ids each row is a lookup somewhere in the file, and as they lie
    /// the rows of all repositories are passed. So it pays where nearly all rows are the repository's, of which some are
    /// asked, and not where there are few.
    func readsFasterAsItLies(_ repository: RepositoryID) throws(HoldfastError) -> Bool {
        let (few, asked): (Int64, Int64) = (4096, 16)
        let bounds = try statement(.rowBounds)
        defer { bounds.reset() }
        guard try bounds.step(), let first = bounds.integer(0), let last = bounds.integer(1), first > 0,
            last - first > few
        else { return false }
        let owner = try statement(.rowOwner)
        var own: Int64 = 0
        let stretch = (last - first) / asked
        for number in 0..<asked {
            defer { owner.reset() }
            let start = first + stretch * number
            try owner.bind(1, start)
            // One row behind a gap does not tell of what would be there.
            if try owner.step(), owner.integer(0) == repository, let found = owner.integer(1), found - start < stretch {
                own += 1
            }
        }
        return own > asked * 3 / 4
    }

    /// The commit log behind `sequence`; nil where it was trimmed past that.
    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        guard sequence < Int64.max else { return [] }
        guard Int64(sequence) + 1 >= (try mark(.commitLogStart) ?? 0) else { return nil }
        let statement = try statement(.commitLog)
        defer { statement.reset() }
        try statement.bind(1, Int64(sequence))
        var entries: [CommitLogEntry] = []
        // The first row may begin before.
        while entries.count < limit, try statement.step() {
            entries += try commitLogEntries(in: statement).filter { $0.sequence > sequence }
        }
        return entries.count > limit ? Array(entries[..<limit]) : entries
    }

    /// See `StorageWrite.commitLogSizes`.
    func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError) {
        let statement = try statement(.commitLogSizes)
        defer { statement.reset() }
        while try statement.step() {
            guard let sequence = statement.integer(0).flatMap(CommitSequence.init(exactly:)),
                let bytes = statement.integer(1).flatMap(Int.init(exactly:))
            else { throw corrupt("the log") }
            if !body(sequence, bytes + Self.commitLogRowBytes) { return }
        }
    }

    /// What a row of the commit log takes beside its changes, about.
    private static let commitLogRowBytes = 25

    /// The commit log behind one sequence and up to another, if so many transactions have stored it: each stores one
    /// row. Nil where there were others, of this library or of another program, and where they take more than
    /// `cachedTransactionBytes` each.
    func commitLog(
        ofTransactions count: UInt32, behind sequence: CommitSequence, through last: CommitSequence, _ limits: Limits
    ) throws(HoldfastError) -> [CommitLogEntry]? {
        guard sequence < Int64.max else { return nil }
        guard Int64(sequence) + 1 >= (try mark(.commitLogStart) ?? 0) else { return nil }
        let statement = try statement(.commitLog)
        defer { statement.reset() }
        try statement.bind(1, Int64(sequence))
        var entries: [CommitLogEntry] = []
        var rows: UInt32 = 0
        var bytes = 0
        while try statement.step() {
            let row = try commitLogEntries(in: statement)
            if row.last!.sequence > last { break }
            rows += 1
            bytes += statement.blob(3)?.count ?? 0
            if rows > count || bytes / max(64, Int(count)) > limits.cachedTransactionBytes { return nil }
            entries += row.filter { $0.sequence > sequence }
        }
        return rows == count ? entries : nil
    }

    func contains(_ commit: CommitName) throws(HoldfastError) -> Bool {
        guard commit.sequence > 0 else { return false }
        let statement = try statement(.commitLog)
        defer { statement.reset() }
        try statement.bind(1, Int64(clamping: commit.sequence) - 1)
        guard try statement.step() else { return false }
        return try commitLogEntries(in: statement).contains { $0.name == commit }
    }

    /// The commits of the commit log's row at which the statement stands.
    private func commitLogEntries(in statement: Statement) throws(HoldfastError) -> [CommitLogEntry] {
        guard let sequence = statement.integer(0).flatMap(CommitSequence.init(exactly:)),
            let identifier = statement.integer(1), let time = statement.integer(2).flatMap(UInt64.init(exactly:)),
            let changes = statement.blob(3)
        else { throw corrupt("the log") }
        let newest = CommitLogEntry(
            sequence: sequence, commitIdentifier: UInt64(bitPattern: identifier), time: time, changes: [])
        guard let entries = CommitLogEncoding.decode(changes, under: newest) else { throw corrupt("the log") }
        return entries
    }

    func idempotencyRecord(_ key: [UInt8]) throws(HoldfastError) -> IdempotencyRecord? {
        try key.withBytes { bytes throws(HoldfastError) in
            let statement = try statement(.idempotency)
            defer { statement.reset() }
            try statement.bind(1, blob: bytes)
            guard try statement.step() else { return nil }
            guard let fingerprint = statement.integer(0),
                let sequence = statement.integer(1).flatMap(CommitSequence.init(exactly:)),
                let time = statement.integer(2).flatMap(UInt64.init(exactly:)), let receipt = statement.blob(3)
            else { throw corrupt("an idempotency record") }
            return IdempotencyRecord(
                key: key, fingerprint: UInt64(bitPattern: fingerprint), sequence: sequence, time: time,
                receipt: [UInt8](receipt))
        }
    }

    // MARK: Marks

    func mark(_ mark: Mark) throws(HoldfastError) -> Int64? {
        let name = Array(mark.rawValue.utf8)
        return try name.withBytes { name throws(HoldfastError) in
            let statement = try statement(.meta)
            defer { statement.reset() }
            try statement.bind(1, text: name)
            guard try statement.step() else { return nil }
            guard let value = statement.integer(0), value >= 0 else { throw corrupt("a mark") }
            return value
        }
    }

    func incarnation() throws(HoldfastError) -> [UInt8] {
        let name = Array(Mark.incarnation.rawValue.utf8)
        return try name.withBytes { name throws(HoldfastError) in
            let statement = try statement(.meta)
            defer { statement.reset() }
            try statement.bind(1, text: name)
            guard try statement.step(), let value = statement.blob(0), value.count == 16 else {
                throw corrupt("the store's mark")
            }
            return [UInt8](value)
        }
    }

    // MARK: Damage

    func corrupt(_ what: String) -> HoldfastError {
        HoldfastError(.corrupt, "\(what) in \(path) is damaged: restore a backup, or delete and store it anew")
    }

    /// Adds to an error about damage which record it met, unless it tells that already.
    private func naming(_ repository: RepositoryID, _ id: String, _ error: HoldfastError) -> HoldfastError {
        guard error.status == .corrupt, !error.detail.contains(where: { $0.name == "id" }) else { return error }
        let name = (try? repositories())?.first { $0.id == repository }?.name ?? "\(repository)"
        return HoldfastError(
            .corrupt, "\(error.message) (repository \"\(name)\", at or behind id \"\(id)\")",
            detail: [("repository", .text(name)), ("id", .text(id))], cause: error)
    }
}
