import CSQLite
internal import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery
public import HoldfastServices

/// The rows of a table in any SQLite file, as JSON objects. Used by one thread.
public final class SQLiteTable {
    private enum Source {
        /// The column, or the row's number.
        case column(Int32)
        /// The library assigns one.
        case none
    }

    private let connection: Connection
    private let statement: Statement
    private let columns: [String]
    private let isJSON: [Bool]
    private let id: Source
    private let key: String

    /// `key` is the member that holds an entity's id. Reads one state of the file, whatever happens meanwhile.
    public init(
        _ table: String, of path: String, key: String, _ options: TableImportOptions
    ) throws(HoldfastError) {
        // By the name that the file has itself: SQLite follows no links here.
        guard let resolved = Location.realPath(path), let size = Location.size(resolved) else {
            throw HoldfastError(.cannotOpen, "there is no file at \(path): check the path")
        }
        if size > 0 && size < 512 { throw HoldfastError(.notAStore, "\(path) is no SQLite database") }
        let traces = SideFiles(of: resolved)
        connection = try Connection(path: resolved, mode: .readOnly, waiting: Environment.system.limits)
        connection.traces = traces
        self.key = key
        var names: [String] = []
        var primary: [String] = []
        let quoted = Schema.quoted(table)
        // Unlike table_info it tells of generated columns.
        try connection.each("PRAGMA table_xinfo(\(quoted))", "reading") { row throws(HoldfastError) in
            // Of a virtual table, the arguments of its functions.
            if row.integer(6) == 1 { return }
            let name = String(decoding: row.text(1) ?? .init(start: nil, count: 0), as: UTF8.self)
            names.append(name)
            if let place = row.integer(5), place > 0 { primary.append(name) }
        }
        guard !names.isEmpty else {
            throw HoldfastError(
                .notFound, "\(path) has no table \"\(table)\": see which it has", detail: [("table", .text(table))])
        }
        for name in options.json + [options.id].compactMap({ $0 }) where !names.contains(name) {
            throw HoldfastError(
                .notFound,
                "the table \"\(table)\" has no column \"\(name)\": its columns are \(names.joined(separator: ", "))",
                detail: [("column", .text(name))])
        }
        let chosen = options.id ?? (names.contains(key) ? key : primary.count == 1 ? primary[0] : nil)
        // A table has a row's number unless it is WITHOUT ROWID, and a view has none. It has three names, of which a
        // column may take any ("ROWIDs and the INTEGER PRIMARY KEY" in SQLite's lang_createtable.html).
        let free = ["rowid", "_rowid_", "oid"].first { name in names.allSatisfy { $0.lowercased() != name } }
        var number = chosen == nil ? free : nil
        if let name = number, (try? connection.number("SELECT \(name) FROM \(quoted) LIMIT 1", "reading")) == nil {
            number = nil
        }
        columns = names
        isJSON = names.map { options.json.contains($0) }
        id =
            chosen.map { .column(Int32(names.firstIndex(of: $0)!)) }
            ?? (number == nil ? .none : .column(Int32(names.count)))
        // By their names, so that each value is that of its column whatever else the table has.
        let selected = names.map(Schema.quoted) + [number].compactMap { $0 }
        statement = try connection.prepared("SELECT \(selected.joined(separator: ", ")) FROM \(quoted)")
    }

    deinit { sqlite3_finalize(statement.pointer) }

    /// The next row as an entity, nil behind the last.
    public func next() throws(HoldfastError) -> [UInt8]? {
        guard try statement.step("reading") else { return nil }
        return try JSONWriter.object { writer throws(HoldfastError) in
            var idColumn: Int32?
            if case .column(let column) = id {
                idColumn = column
                writer.member(key)
                try writeID(column, to: &writer)
            }
            for (number, name) in columns.enumerated() {
                // Under its own name as well, unless that is the id's.
                if name == key && idColumn != nil { continue }
                writer.member(name)
                try write(Int32(number), isJSON: isJSON[number], to: &writer)
            }
        }
    }

    private func writeID(_ column: Int32, to writer: inout JSONWriter) throws(HoldfastError) {
        switch sqlite3_column_type(statement.pointer, column) {
        case SQLITE_INTEGER, SQLITE_TEXT: try write(column, isJSON: false, to: &writer)
        case SQLITE_FLOAT:
            writer.string(String(sqlite3_column_double(statement.pointer, column)))
        default:
            throw HoldfastError(.invalidID, "a row has no value that can be an id: choose another column as \"id\"")
        }
    }

    private func write(_ column: Int32, isJSON: Bool, to writer: inout JSONWriter) throws(HoldfastError) {
        switch sqlite3_column_type(statement.pointer, column) {
        case SQLITE_INTEGER: writer.integer(sqlite3_column_int64(statement.pointer, column))
        case SQLITE_FLOAT:
            let number = sqlite3_column_double(statement.pointer, column)
            if number.isFinite { writer.real(number) } else { writer.null() }
        case SQLITE_TEXT:
            guard let text = statement.text(column) else { return writer.null() }
            // As a member, and in the text of the row, which grows.
            try Memory.ask(for: 4 * text.count)
            if isJSON {
                writer.value(try JSONValue.parse(text, what: "column \"\(columns[Int(column)])\""))
            } else if let valid = String(validating: text, as: UTF8.self) {
                writer.string(valid)
            } else {
                writer.string(utf8: Base64.encode(text))
            }
        case SQLITE_BLOB:
            let bytes = statement.blob(column) ?? .init(start: nil, count: 0)
            try Memory.ask(for: 6 * bytes.count)
            writer.string(utf8: Base64.encode(bytes))
        default: writer.null()
        }
    }
}

/// RFC 4648, section 4.
private enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
            for place in 0..<4 {
                let isPadding = start + place > bytes.count
                text.append(isPadding ? UInt8(ascii: "=") : alphabet[group >> (18 - 6 * place) & 63])
            }
        }
        return text
    }
}
