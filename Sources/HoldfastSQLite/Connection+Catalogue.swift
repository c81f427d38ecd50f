import CSQLite
import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The catalogue: which repositories and indexes there are.
extension Connection {
    struct Catalogue {
        let mark: Int64
        let repositories: [RepositoryRecord]
        let indexes: [IndexRecord]
    }

    /// As it is in this transaction. It is read anew only where its mark says that it is another.
    func readCatalogue() throws(HoldfastError) -> Catalogue {
        let mark = try mark(.catalogue) ?? 0
        if let known = catalogue, known.mark == mark { return known }
        // A newer library may have entered what only it understands, beside this one.
        try checkReader()
        let read = Catalogue(mark: mark, repositories: try readRepositories(), indexes: try readIndexes())
        catalogue = read
        return read
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { try readCatalogue().repositories }

    func indexes() throws(HoldfastError) -> [IndexRecord] { try readCatalogue().indexes }

    private func readRepositories() throws(HoldfastError) -> [RepositoryRecord] {
        let statement = try statement(.repositories)
        defer { statement.reset() }
        var records: [RepositoryRecord] = []
        while try statement.step() {
            guard let id = statement.integer(0), let name = statement.text(1), let key = statement.text(2)
            else { throw corrupt("the catalogue") }
            var record = RepositoryRecord(
                id: id, name: String(decoding: name, as: UTF8.self), key: String(decoding: key, as: UTF8.self))
            if !statement.isNull(3) {
                guard let history = statement.text(3), try RepositoryHistory.decode(history, into: &record) else {
                    throw corrupt("the catalogue")
                }
            }
            records.append(record)
        }
        return records
    }

    // MARK: Writing

    func applyRepositories(_ batch: WriteBatch) throws(HoldfastError) {
        for record in batch.repositories {
            let known = try repositories().first { $0.id == record.id }
            if record.isDropped { try deleteEntities(of: record.id, unless: batch.isUnwanted) }
            if let known, known.changed == record.changed {
                try setHistory(record)
                continue
            }
            if let known { try execute("DROP VIEW IF EXISTS \(Schema.quoted(known.name))", "writing") }
            try set(record)
            try setHistory(record)
            if !record.isDropped { try execute(Schema.view(of: record.id, named: record.name), "writing") }
        }
    }

    /// In pieces, so that what SQLite notes of them takes little memory, and that it can be ended.
    private func deleteEntities(
        of repository: RepositoryID, unless isUnwanted: (() -> Bool)?
    ) throws(HoldfastError) {
        let statement = try statement(.deleteSome)
        repeat {
            if isUnwanted?() ?? false { throw Interrupt.cancelled }
            try statement.bind(1, repository)
            try statement.bind(2, Int64(deletedRows))
            try statement.run("writing")
        } while sqlite3_changes(handle) == deletedRows
    }

    private func set(_ record: RepositoryRecord) throws(HoldfastError) {
        let (name, key) = (Array(record.name.utf8), Array(record.key.utf8))
        try name.withBytes { name throws(HoldfastError) in
            try key.withBytes { key throws(HoldfastError) in
                let statement = try statement(.setRepository)
                defer { statement.reset() }
                try statement.bind(1, record.id)
                try statement.bind(2, text: name)
                try statement.bind(3, text: key)
                _ = try statement.step("writing")
            }
        }
    }

    private func setHistory(_ record: RepositoryRecord) throws(HoldfastError) {
        try Array("repository_\(record.id)".utf8).withBytes { name throws(HoldfastError) in
            try RepositoryHistory.encode(record).withBytes { history throws(HoldfastError) in
                let statement = try statement(.setMeta)
                defer { statement.reset() }
                try statement.bind(1, text: name)
                try statement.bind(2, text: history)
                _ = try statement.step("writing")
            }
        }
    }

    /// Behind everything else: from here on the catalogue is another.
    func markCatalogue(_ batch: WriteBatch) throws(HoldfastError) {
        guard batch.changesCatalogue else { return }
        var reader = batch.indexes.map(\.minimumReader).max() ?? 1
        if !batch.repositories.isEmpty { reader = max(reader, Schema.repositories) }
        if try reader > mark(.minimumReader) ?? 1 { try setMark(.minimumReader, reader) }
        try setMark(.catalogue, Int64(clamping: batch.commitLog.last?.sequence ?? 0))
    }
}
