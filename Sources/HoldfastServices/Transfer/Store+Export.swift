public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery
public import HoldfastStorage

/// Export as JSON Lines: text in which every line is one JSON object (jsonlines.org).
///
///     {"holdfast_export":1,"incarnation":"…","sequence":12,"repositories":[{"name","key","indexes":[…]}]}
///     {"repository":"songs","id":"s1","version":7,"entity":{…}}
///     {"end":true,"entities":1}
///
/// Ordered by the repository's name and the id. The last line tells a whole export from one that was cut short.
extension Store {
    /// Hands `write` pieces of whole lines, all of one state, while others go on writing. `write` is called on this
    /// thread, without a lock. Answers {"sequence","entities","skipped"}.
    public func export(
        _ options: ExportOptions, _ write: (UnsafeRawBufferPointer) throws(HoldfastError) -> Void,
        progress: Progress
    ) throws(HoldfastError) -> [UInt8] {
        try requireOpen()
        // Of its own, which nobody takes back: what was written cannot be taken back either.
        let snapshot = try beginSnapshot()
        defer { if !isForeign { snapshot.close() } }
        // The library's own may be news.
        try refreshCatalogue()
        let records = try exported(options, on: snapshot)
        if let after = options.after { try check(after, goesOnWith: records, on: snapshot) }
        var lines = LineBuffer()
        if options.after == nil { try writeHeader(of: records, on: snapshot, options, to: &lines) }
        // What was written before counts at the end, where an import holds it against what it has read.
        let before = try options.after.map { after throws(HoldfastError) in
            try count(through: after, of: records, on: snapshot, skipsDamaged: options.skipsDamaged)
        }
        var entities: UInt64 = 0
        var skipped: UInt64 = 0
        func flush() throws(HoldfastError) {
            if isClosed { throw HoldfastError.storeClosed }
            try lines.text.withBytes { bytes throws(HoldfastError) in try write(bytes) }
            try requireSameProcess()
            lines.text.removeAll(keepingCapacity: true)
            try Interrupt.look()
            guard try report(progress, entities, 0) else { throw Self.cancelled("the export was not finished") }
        }
        for record in records {
            var position: EntityID?
            if let after = options.after {
                if record.name.utf8.lexicographicallyPrecedes(after.repository.utf8) { continue }
                if record.name == after.repository { position = after.id }
            }
            let check = EntityCheck(record)
            var isFinished = false
            while !isFinished {
                isFinished = true
                try snapshot.scan(EntityScan(record.id, after: position)) { view throws(HoldfastError) in
                    if !check.isSound(view) {
                        guard options.skipsDamaged else { throw check.refusal(of: view) }
                        skipped += 1
                        return true
                    }
                    try lines.text.askToGrow(by: view.body.count + view.id.count)
                    lines.add(view, of: record.name)
                    entities += 1
                    if lines.text.count < environment.limits.pieceBytes { return true }
                    position = EntityID(unchecked: Array(view.id))
                    isFinished = false
                    return false
                }
                if !isFinished { try flush() }
            }
        }
        lines.addEnd(entities: (before ?? 0) + entities)
        try flush()
        diagnostics.info("store exported", [("sequence", .number(snapshot.sequence)), ("entities", .number(entities))])
        return JSONWriter.object { writer in
            writer.member("sequence", snapshot.sequence)
            writer.member("entities", entities)
            writer.member("skipped", skipped)
        }
    }

    /// Whether a position is of this store, this state and these repositories.
    private func check(
        _ after: ExportOptions.Position, goesOnWith records: [RepositoryRecord], on snapshot: any StorageSnapshot
    ) throws(HoldfastError) {
        if let other = after.incarnation, other != incarnation {
            throw HoldfastError(
                .conflict, "that export is of another store: export this one anew",
                detail: [("expected", .text(other)), ("actual", .text(incarnation))])
        }
        guard after.sequence == snapshot.sequence else {
            throw HoldfastError(
                .conflict, "the store was written since that export began: export it anew",
                detail: [("expected", .number(after.sequence)), ("actual", .number(snapshot.sequence))])
        }
        let names = records.map(\.name)
        guard after.repositories.map({ Set($0) == Set(names) }) ?? true, names.contains(after.repository) else {
            throw HoldfastError(
                .conflict, "that export is of other repositories: ask for the same, or export anew",
                detail: [
                    ("expected", .texts(after.repositories ?? [after.repository])), ("actual", .texts(names)),
                ])
        }
    }

    /// How many entities were written up to a position, with the one that is there.
    private func count(
        through position: ExportOptions.Position, of records: [RepositoryRecord], on snapshot: any StorageSnapshot,
        skipsDamaged: Bool
    ) throws(HoldfastError) -> UInt64 {
        var count: UInt64 = 0
        for record in records where !position.repository.utf8.lexicographicallyPrecedes(record.name.utf8) {
            let isLast = record.name == position.repository
            let check = EntityCheck(record)
            try snapshot.scanAsking(record.id, after: nil) { view in
                if isLast, position.id.bytes.withBytes({ compareBytes($0, view.id) }) < 0 { return false }
                if !skipsDamaged || check.isSound(view) { count += 1 }
                return true
            }
        }
        return count
    }

    private func exported(
        _ options: ExportOptions, on snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> [RepositoryRecord] {
        let all = Catalogue.listed(try snapshot.repositories())
        guard let names = options.repositories else { return all }
        var records: [RepositoryRecord] = []
        for name in names {
            guard let record = all.first(where: { $0.name == name }) else {
                throw HoldfastError(.notFound, "the store has no repository \"\(name)\": see which it has")
            }
            if !records.contains(where: { $0.id == record.id }) { records.append(record) }
        }
        return records.sorted { $0.name < $1.name }
    }

    private func writeHeader(
        of records: [RepositoryRecord], on snapshot: any StorageSnapshot, _ options: ExportOptions,
        to lines: inout LineBuffer
    ) throws(HoldfastError) {
        let indexes = try snapshot.indexes()
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("holdfast_export", UInt64(1))
        writer.member("incarnation", incarnation)
        writer.member("sequence", snapshot.sequence)
        if let version = try schemaVersion(on: snapshot) { writer.member("schema_version", version) }
        try writer.member("repositories", objects: records) { writer, record throws(HoldfastError) in
            writer.member("name", record.name)
            writer.member("key", record.key)
            writer.member("indexes")
            writer.beginArray()
            for index in indexes where index.repository == record.id && index.state == .ready {
                let known: Index
                do throws(HoldfastError) { known = try Index(index) } catch {
                    guard options.skipsDamaged, error.status == .corrupt else { throw error }
                    continue
                }
                known.definition.writeOptions(named: index.name, to: &writer)
            }
            writer.endArray()
        }
        writer.endObject()
        lines.add(writer.bytes)
    }
}

/// Lines that wait to be handed over.
private struct LineBuffer {
    var text: [UInt8] = []

    mutating func add(_ line: [UInt8]) {
        text += line
        text.append(UInt8(ascii: "\n"))
    }

    mutating func add(_ view: EntityView, of repository: String) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("repository", repository)
        writer.member("id", utf8: Array(view.id))
        writer.member("version", view.version)
        writer.member("entity")
        text += writer.bytes
        let start = text.count
        text.append(contentsOf: view.body)
        // Between JSON's words a line's end is white space like any other, and elsewhere it cannot stand.
        for position in start..<text.count where text[position] == 0x0A || text[position] == 0x0D {
            text[position] = UInt8(ascii: " ")
        }
        text += [UInt8(ascii: "}"), UInt8(ascii: "\n")]
    }

    mutating func addEnd(entities: UInt64) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("end", true)
        writer.member("entities", entities)
        writer.endObject()
        add(writer.bytes)
    }
}
