public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery
public import HoldfastStorage

/// Import of JSON Lines: what an export has written, or bare entities.
extension Store {
    /// `read` fills a part of the buffer with what comes next, and answers how many bytes; 0 at the end. Answers
    /// {"entities","stored","skipped"}.
    public func importLines(
        _ options: ImportOptions, _ read: @escaping (UnsafeMutableRawBufferPointer) throws(HoldfastError) -> Int,
        progress: @escaping Progress
    ) throws(HoldfastError) -> [UInt8] {
        var importer = try Importer(into: self, options, progress)
        var lines = try LineReader(
            maxLineBytes: self.options.limits.maxBytes + 4096, pieceBytes: environment.limits.linePiece
        ) { buffer throws(HoldfastError) in
            let count = try read(buffer)
            try self.requireSameProcess()
            return count
        }
        var header: ExportLine.Header?
        var isWhole = false
        var count = 0
        do throws(HoldfastError) {
            while let line = try lines.next() {
                if isWhole { throw HoldfastError(.invalidJSON, "something follows the line that ends the export") }
                let isFirst = count == 0
                count += 1
                switch try ExportLine(line, isFirst: isFirst, isExport: header != nil, limits: self.options.limits) {
                case .header(let found):
                    guard isFirst else {
                        throw HoldfastError(.invalidJSON, "a second export begins: import one at a time")
                    }
                    header = found
                    try begin(found, &importer)
                case .entity(let repository, let id, let version, let body):
                    try importer.add(body, id: id, version: version, to: repository, at: lines.number)
                case .end(let entities):
                    guard entities == importer.read else {
                        throw HoldfastError(
                            .invalidJSON,
                            "the export has \(importer.read) entities where its end counts \(entities): it is damaged")
                    }
                    isWhole = true
                case .bare:
                    guard header == nil else {
                        throw HoldfastError(.invalidJSON, "the line is none of an export: it is damaged")
                    }
                    guard let repository = options.repository else {
                        throw HoldfastError(
                            .invalidOption, "the line names no repository: give the option \"repository\"",
                            detail: [("option", .text("repository"))])
                    }
                    try importer.add(line, to: repository, at: lines.number)
                }
            }
            guard header == nil || isWhole else {
                throw HoldfastError(.invalidJSON, "the export ends before its last line: it was cut short")
            }
            // Those that have no entities are there, too.
            for described in header?.repositories ?? [] { _ = try importer.repository(described.name) }
            try importer.finish()
        } catch {
            throw error.at(lines.number, "line")
        }
        if let header { try end(header, options, &importer) }
        return importer.report(diagnostics)
    }

    private func begin(_ header: ExportLine.Header, _ importer: inout Importer) throws(HoldfastError) {
        try importer.keepVersions(through: header.sequence)
        for repository in header.repositories { try importer.expect(repository.name, key: repository.key) }
    }

    /// Indexes come last: building one is cheaper than keeping it.
    private func end(
        _ header: ExportLine.Header, _ options: ImportOptions, _ importer: inout Importer
    ) throws(HoldfastError) {
        if let version = header.schemaVersion { try schemaVersion(initially: version) }
        guard options.createsIndexes else { return }
        for described in header.repositories {
            // The one that has the entities, which may have got another name meanwhile.
            let repository = try importer.repository(described.name)
            for index in described.indexes {
                var writer = JSONWriter()
                writer.value(index)
                try writer.bytes.withBytes { options throws(HoldfastError) in try repository.createIndex(options) }
            }
        }
    }

    /// Stores each entity that `next` gives, nil behind the last, in one repository. Answers as `importLines` does.
    public func importEntities(
        to repository: String, _ options: ImportOptions, _ next: () throws(HoldfastError) -> [UInt8]?,
        _ progress: @escaping Progress
    ) throws(HoldfastError) -> [UInt8] {
        var importer = try Importer(into: self, options, of: "row", progress)
        var row: UInt64 = 0
        do throws(HoldfastError) {
            while true {
                row += 1
                guard let entity = try next() else { break }
                try importer.add(entity, to: repository, at: row)
            }
            _ = try importer.repository(repository)
            try importer.finish()
        } catch {
            throw error.at(row, "row")
        }
        return importer.report(diagnostics)
    }
}

extension Importer {
    fileprivate func report(_ diagnostics: StoreDiagnostics) -> [UInt8] {
        diagnostics.info("entities imported", [("entities", .number(read)), ("stored", .number(stored))])
        return JSONWriter.object { writer in
            writer.member("entities", read)
            writer.member("stored", stored)
            writer.member("skipped", skipped)
        }
    }
}
