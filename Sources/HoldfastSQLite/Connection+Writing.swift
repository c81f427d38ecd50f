import CSQLite
import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What only write transactions do.
extension Connection {
    func apply(_ batch: WriteBatch) throws(HoldfastError) {
        try applyRepositories(batch)
        try applyChanges(batch)
        try applyIndexes(batch)
        try markCatalogue(batch)
        try append(batch.commitLog)
        for record in batch.idempotency { try insert(record) }
        if let reserved = batch.reservedThrough { try setMark(.reserved, Int64(clamping: reserved)) }
        if let mark = batch.trimCommitLogBelow { try trimCommitLog(below: mark) }
        if let time = batch.trimIdempotencyBefore {
            try run(.trimIdempotencyByTime, with: Int64(clamping: time))
        }
        if let limit = batch.keepIdempotency { try run(.trimIdempotencyByCount, with: Int64(clamping: limit)) }
    }

    func setIncarnation(_ incarnation: [UInt8]) throws(HoldfastError) {
        try execute(
            "INSERT OR REPLACE INTO holdfast_meta (name, value) "
                + "VALUES ('\(Mark.incarnation.rawValue)', x'\(hexadecimal(incarnation))')", "writing")
    }

    func setMark(_ mark: Mark, _ value: Int64) throws(HoldfastError) {
        let name = Array(mark.rawValue.utf8)
        try name.withBytes { name throws(HoldfastError) in
            let statement = try statement(.setMeta)
            defer { statement.reset() }
            try statement.bind(1, text: name)
            try statement.bind(2, value)
            _ = try statement.step("writing")
        }
    }

    /// All in one row: rows of their own would be a fifth of what a small commit costs.
    func append(_ commitLog: [CommitLogEntry]) throws(HoldfastError) {
        guard let newest = commitLog.last else { return }
        let statement = try statement(.insertCommitLog)
        try CommitLogEncoding.encode(commitLog, under: newest).withBytes { bytes throws(HoldfastError) in
            defer { statement.reset() }
            try statement.bind(1, Int64(clamping: newest.sequence))
            try statement.bind(2, Int64(bitPattern: newest.commitIdentifier))
            try statement.bind(3, Int64(clamping: newest.time))
            try statement.bind(4, blob: bytes)
            _ = try statement.step("writing")
        }
    }

    private func applyChanges(_ batch: WriteBatch) throws(HoldfastError) {
        let noteNumbers = RowNumbers.areWorthwhile(batch.changes.count, in: batch.commitLog.count)
        for change in batch.changes {
            if batch.isUnwanted?() ?? false { throw Interrupt.cancelled }
            try change.key.id.bytes.withBytes { id throws(HoldfastError) in
                guard let body = change.body else { return try run(.delete, change.key.repository, id) }
                try body.withBytes { body throws(HoldfastError) in
                    let (repository, version) = (change.key.repository, Int64(clamping: change.version))
                    if noteNumbers {
                        try put(repository, id, version, body)
                    } else {
                        try run(.upsert, repository, id, version, body)
                    }
                }
            }
        }
    }

    private func put(
        _ repository: RepositoryID, _ id: UnsafeRawBufferPointer, _ version: Int64, _ body: UnsafeRawBufferPointer
    ) throws(HoldfastError) {
        let hash = RowNumbers.hash(repository, id)
        let known = rowNumbers.number(under: hash)
        if let known, known != 0 {
            try run(.updateRow, repository, id, version, body, number: known)
            if sqlite3_changes(handle) == 1 { return }
        }
        sqlite3_set_last_insert_rowid(handle, 0)
        try run(.upsert, repository, id, version, body)
        // Only of a row that was inserted.
        var number = sqlite3_last_insert_rowid(handle)
        if number == 0, known == 0 { number = try self.number(of: repository, id) }
        rowNumbers.note(number, under: hash)
    }

    private func number(of repository: RepositoryID, _ id: UnsafeRawBufferPointer) throws(HoldfastError) -> Int64 {
        let statement = try statement(.rowNumber)
        defer { statement.reset() }
        try statement.bind(1, repository)
        try statement.bind(2, text: id)
        return try statement.step("writing") ? statement.integer(0) ?? 0 : 0
    }

    /// One that stores an entity, or without a body deletes it.
    private func run(
        _ query: Query, _ repository: RepositoryID, _ id: UnsafeRawBufferPointer, _ version: Int64 = 0,
        _ body: UnsafeRawBufferPointer? = nil, number: Int64? = nil
    ) throws(HoldfastError) {
        let statement = try statement(query)
        defer { statement.reset() }
        try statement.bind(1, repository)
        try statement.bind(2, text: id)
        if let body {
            try statement.bind(3, version)
            try statement.bind(4, text: body)
        }
        if let number { try statement.bind(5, number) }
        _ = try statement.step("writing")
    }

    private func insert(_ record: IdempotencyRecord) throws(HoldfastError) {
        try record.key.withBytes { key throws(HoldfastError) in
            try record.receipt.withBytes { receipt throws(HoldfastError) in
                let statement = try statement(.insertIdempotency)
                defer { statement.reset() }
                try statement.bind(1, Int64(clamping: record.sequence))
                try statement.bind(2, blob: key)
                try statement.bind(3, Int64(bitPattern: record.fingerprint))
                try statement.bind(4, Int64(clamping: record.time))
                try statement.bind(5, blob: receipt)
                _ = try statement.step("writing")
            }
        }
    }

    /// The newest entry stays, whatever is asked: it tells the head.
    private func trimCommitLog(below mark: CommitSequence) throws(HoldfastError) {
        let start = Int64(clamping: min(mark, try head()))
        guard start > (try self.mark(.commitLogStart) ?? 0) else { return }
        try run(.trimCommitLog, with: start)
        try setMark(.commitLogStart, start)
    }

    private func run(_ query: Query, with value: Int64) throws(HoldfastError) {
        let statement = try statement(query)
        try statement.bind(1, value)
        try statement.run("writing")
    }
}
