import CSQLite
import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A prepared statement in use: bind, step, read the columns, reset. What is bound is lent, not copied, and must
/// live until `reset`.
struct Statement {
    let pointer: OpaquePointer
    // unowned(unsafe): a statement is used within a call of its connection, and counting references to that would
    // be a tenth of a point read.
    unowned(unsafe) let connection: Connection

    func bind(_ index: Int32, _ value: Int64) throws(HoldfastError) {
        try connection.check(sqlite3_bind_int64(pointer, index, value), "binding for")
    }

    func bind(_ index: Int32, text: UnsafeRawBufferPointer) throws(HoldfastError) {
        // An empty text has no address, which SQLite would take for NULL.
        let base = text.baseAddress ?? UnsafeRawPointer(Self.empty)
        let bytes = base.assumingMemoryBound(to: CChar.self)
        try connection.check(
            sqlite3_bind_text64(pointer, index, bytes, UInt64(text.count), nil, UInt8(SQLITE_UTF8)), "binding for")
    }

    func bind(_ index: Int32, blob: UnsafeRawBufferPointer) throws(HoldfastError) {
        let base = blob.baseAddress ?? UnsafeRawPointer(Self.empty)
        try connection.check(sqlite3_bind_blob64(pointer, index, base, UInt64(blob.count), nil), "binding for")
    }

    /// Whether there is a row.
    func step(_ doing: String = "reading") throws(HoldfastError) -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw connection.error(code, doing)
        }
    }

    /// Runs a statement that gives no rows, and resets it.
    func run(_ doing: String) throws(HoldfastError) {
        defer { reset() }
        while try step(doing) {}
    }

    /// Reports nothing: a failure was told by `step`.
    func reset() { sqlite3_reset(pointer) }

    /// A column's value, to ask more than one thing of: looking the column up each time costs more than the answer. SQLite
    /// allows it where, as here, one thread at a time uses the connection.
    private func value(_ column: Int32) -> OpaquePointer? { sqlite3_column_value(pointer, column) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_NULL }

    /// The number in a column, or nil if it holds something else.
    func integer(_ column: Int32) -> Int64? {
        let value = value(column)
        return sqlite3_value_type(value) == SQLITE_INTEGER ? sqlite3_value_int64(value) : nil
    }

    /// The bytes in a column, lent until the next step or reset, or nil if it does not hold text.
    func text(_ column: Int32) -> UnsafeRawBufferPointer? { bytes(column, SQLITE_TEXT) }

    /// The entity whose version and text are in these columns. What cannot be one is told: SQLite keeps no checksums, and
    /// what a damaged page shows most often is zeros.
    func entity(
        _ id: UnsafeRawBufferPointer, version: Int32, text column: Int32, number: Int64 = 0
    ) -> EntityView {
        let version = integer(version).flatMap(CommitSequence.init(exactly:))
        let text = text(column)
        guard let version, let text, text.count >= 2, text[0] == UInt8(ascii: "{"),
            text[text.count - 1] == UInt8(ascii: "}"), memchr(text.baseAddress!, 0, text.count) == nil
        else {
            return EntityView(
                id: id, version: version ?? 0, body: text ?? UnsafeRawBufferPointer(start: nil, count: 0),
                number: number,
                damage: version == nil ? "its version is no number" : "its text is no JSON object")
        }
        return EntityView(id: id, version: version, body: text, number: number)
    }

    /// As `text`, for a BLOB.
    func blob(_ column: Int32) -> UnsafeRawBufferPointer? { bytes(column, SQLITE_BLOB) }

    private func bytes(_ column: Int32, _ type: Int32) -> UnsafeRawBufferPointer? {
        let value = value(column)
        guard sqlite3_value_type(value) == type else { return nil }
        // sqlite3_value_blob gives a text's bytes as they lie; sqlite3_value_text may copy to append a NUL.
        let start = sqlite3_value_blob(value)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
    }

    // nonisolated(unsafe): one byte that nobody reads or writes, only its address matters.
    private nonisolated(unsafe) static let empty = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
}
