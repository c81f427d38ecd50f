import HoldfastCore

/// The files that SQLite makes beside a database that it only reads, and cannot take away again: only a connection that
/// may write does that, when it is the last. So after reading such a one is opened for a moment.
struct SideFiles {
    private let path: String
    private let wereThere: Bool

    /// To be made before the database is opened.
    init(of path: String) {
        self.path = path
        wereThere = Self.ends.contains { Location.size(path + $0) != nil }
    }

    private static let ends = ["-wal", "-shm"]

    /// To be called when every connection is closed. Leaves what was there before, a WAL that somebody has written, and
    /// whatever somebody has open; nothing is lost where it fails.
    func remove() {
        guard !wereThere, Self.ends.contains(where: { Location.size(path + $0) != nil }),
            Location.size(path + "-wal") ?? 0 == 0
        else { return }
        guard let connection = try? Connection(path: path, mode: .readWrite) else { return }
        connection.setCheckpointOnClose(true)
        _ = try? connection.number("SELECT count(*) FROM sqlite_schema", "closing")
        connection.close()
    }
}
