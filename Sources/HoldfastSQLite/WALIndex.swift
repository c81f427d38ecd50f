import CSQLite
import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastStorage

/// The index of the write-ahead log, which SQLite keeps in memory that all processes map. Its header changes with every
/// commit, of whatever process or program, so comparing it tells whether there was one, without a system call.
///
/// Kept by a connection of its own, which reads nothing else: the mapping lasts as long as some connection does, and
/// this one is never busy.
struct WALIndex {
    private let connection: Connection
    let mapped: UnsafeRawPointer

    /// nil where there is none to be shared: for a database without a write-ahead log, and where nobody writes and this
    /// process may not, so that SQLite reads the WAL without one.
    init?(_ connection: Connection) throws(HoldfastError) {
        // SQLite opens the WAL at the first read.
        _ = try connection.head()
        var file: UnsafeMutablePointer<sqlite3_file>?
        try connection.check(
            sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_FILE_POINTER, &file), "opening")
        guard try connection.usesWriteAheadLog(), let file, let methods = file.pointee.pMethods?.pointee,
            methods.iVersion >= 2
        else { return nil }
        var region: UnsafeMutableRawPointer?
        let code = methods.xShmMap(file, 0, Self.regionBytes, 0, &region)
        if code & 0xFF == SQLITE_READONLY { return nil }
        try connection.check(code, "opening")
        guard let region else { return nil }
        self.connection = connection
        mapped = UnsafeRawPointer(UnsafeRawPointer(bitPattern: UInt(bitPattern: region))!)
    }

    /// How much of the index SQLite maps at once.
    static let regionBytes: Int32 = 32_768
}

extension ChangeToken {
    /// How many transactions were committed between two states of the index' header, of whatever program; nil where that
    /// cannot be told.
    ///
    /// SQLite counts each in the header ("iChange" in wal.c), in the memory that all processes share. It counts from zero
    /// again only when it makes the index anew, as after the end of a process in the instant in which that wrote the
    /// header, for as long as one connection is open: `WALIndex` has one.
    func transactions(since previous: ChangeToken) -> UInt32? {
        let count = UInt32(truncatingIfNeeded: words.1) &- UInt32(truncatingIfNeeded: previous.words.1)
        // With none in between, such as after a checkpoint that emptied the WAL, the last frame is the same one. Its
        // checksum goes over all before it.
        if count == 0 && words.3 != previous.words.3 { return nil }
        return count
    }
}

/// One state of the index' header.
struct WALHeader: Equatable, Sendable {
    private(set) var words: ChangeToken.Words = (0, 0, 0, 0, 0, 0)

    /// As it stands in a mapped index; nil while somebody is changing it.
    init?(in index: UnsafeRawPointer) {
        guard holdfast_wal_header(index, &words) else { return nil }
    }

    /// Counts commits, of whomever ("iChange").
    var changes: UInt32 { UInt32(truncatingIfNeeded: words.1) }

    /// How long the WAL must at least be: its header, and the frames that are committed, each with a header
    /// ("WAL Index Header" and "WAL File Format" in SQLite's walformat.html and fileformat2.html).
    var walBytes: Int {
        let frames = number(at: 16)
        return frames == 0 ? 0 : 32 + frames * (24 + pageBytes)
    }

    /// How long the database is with what the WAL holds; 0 where the index was made of an empty WAL.
    var databaseBytes: Int { number(at: 20) * pageBytes }

    private var pageBytes: Int {
        let page = withUnsafeBytes(of: words) { Int($0.load(fromByteOffset: 14, as: UInt16.self)) }
        // 65,536 is written as 1.
        return page == 1 ? 65_536 : page
    }

    private func number(at offset: Int) -> Int {
        withUnsafeBytes(of: words) { Int($0.load(fromByteOffset: offset, as: UInt32.self)) }
    }

    static func == (left: WALHeader, right: WALHeader) -> Bool { left.words == right.words }
}
