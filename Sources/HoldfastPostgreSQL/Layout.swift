internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The tables of a database that holds stores; `Sources/HoldfastPostgreSQL/LAYOUT.md` describes them.
enum Layout {
    static let format: Int64 = 1
    static let oldestServer = 150_000

    /// The row of a store changes with each commit: room on its page keeps the index out of that.
    static let creation = [
        """
        CREATE TABLE IF NOT EXISTS holdfast_store (
            store int8 PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, format int8 NOT NULL,
            incarnation bytea NOT NULL, head int8 NOT NULL, commit_id int8 NOT NULL, writes int8 NOT NULL,
            reserved int8 NOT NULL, server_run text COLLATE "C" NOT NULL, log_start int8 NOT NULL,
            catalogue int8 NOT NULL) WITH (fillfactor = 10)
        """,
        """
        CREATE TABLE IF NOT EXISTS holdfast_repository (
            store int8, id int8, name text COLLATE "C" NOT NULL, key bytea NOT NULL, history bytea NOT NULL,
            PRIMARY KEY (store, id))
        """,
        """
        CREATE TABLE IF NOT EXISTS holdfast_entity (
            store int8, repository int8, id bytea, version int8 NOT NULL, body bytea NOT NULL,
            PRIMARY KEY (store, repository, id))
        """,
        """
        CREATE TABLE IF NOT EXISTS holdfast_index (
            store int8, id int8, repository int8 NOT NULL, name text COLLATE "C" NOT NULL, definition bytea NOT NULL,
            state int8 NOT NULL, has_arrays bool NOT NULL, PRIMARY KEY (store, id))
        """,
        """
        CREATE TABLE IF NOT EXISTS holdfast_entry (
            store int8, index int8, key bytea, id bytea, repository int8 NOT NULL, PRIMARY KEY (store, index, key, id))
        """,
        """
        CREATE TABLE IF NOT EXISTS holdfast_log (
            store int8, sequence int8, commit_id int8 NOT NULL, time int8 NOT NULL, changes bytea NOT NULL,
            PRIMARY KEY (store, sequence))
        """,
        """
        CREATE TABLE IF NOT EXISTS holdfast_idempotency (
            store int8, key bytea, sequence int8 NOT NULL, fingerprint int8 NOT NULL, time int8 NOT NULL,
            receipt bytea NOT NULL, PRIMARY KEY (store, key))
        """,
        """
        CREATE INDEX IF NOT EXISTS holdfast_idempotency_sequence ON holdfast_idempotency (store, sequence)
        """,
    ]

    /// A store's number that no row has, also none that is left of a store whose own row somebody has deleted.
    static let freeNumber =
        "1 + greatest(0, "
        + ["store", "repository", "entity", "index", "entry", "log", "idempotency"]
        .map { "(SELECT max(store) FROM holdfast_\($0))" }.joined(separator: ", ") + ")"

    /// An entry of PostgreSQL's B-trees has 2,704 bytes at most, with what the tables' own columns take.
    static let longestKey = 2_600

    /// Tells one run of a server from another between which it may have lost commits: it crashed, or is another server, or the
    /// database or the tables were put back from a copy. Statistics survive a shutdown alone, and are begun anew after a crash.
    /// The same in each session, whatever its time zone. The table's file is named after the database and the table: to look the
    /// database up takes longer than all of this.
    static let serverRun = """
        concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()),
        extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()), pg_relation_filepath('holdfast_store'))
        """
}

/// The row of a store, as one statement finds it.
struct StoreRow {
    let format: Int64
    let incarnation: [UInt8]
    private(set) var head: UInt64
    private(set) var commitIdentifier: UInt64
    /// Counts write transactions.
    private(set) var writes: UInt64
    private(set) var reserved: UInt64
    /// Whether the server has run since sequences were reserved last: of a row that is locked.
    private(set) var isSameRun: Bool
    private(set) var logStart: UInt64
    /// Counts changes of the catalogue.
    private(set) var catalogue: Int64
    /// What the log has for the commit that was asked about; nil where it has none.
    let known: UInt64?
    /// Whether the server follows another one.
    let isOfStandby: Bool
    /// Of `KnownStates`: which of the store's histories it is of.
    var history: UInt64 = 0

    /// $1 is the store's number, $2 a sequence of the log.
    private static func columns(isSameRun: String = "NULL") -> String {
        """
        s.format, s.incarnation, s.head, s.commit_id, s.writes, s.reserved, \(isSameRun), s.log_start,
        s.catalogue, (SELECT l.commit_id FROM holdfast_log l WHERE l.store = s.store AND l.sequence = $2),
        pg_is_in_recovery()
        """
    }

    /// How many these are.
    static let columnCount = 11

    /// With an entity's version and text behind the columns, where there is one.
    static func statement(_ store: Int64, _ known: CommitName, with key: EntityKey) -> Statement {
        Statement(
            withEntity, .integer(store), .integer(Int64(clamping: known.sequence)), .integer(key.repository),
            .bytes(key.id.bytes)
        ).repeated
    }

    private static let withEntity = """
        SELECT \(columns()), e.version, e.body FROM holdfast_store s LEFT JOIN holdfast_entity e
        ON e.store = $1 AND e.repository = $3 AND e.id = $4 WHERE s.store = $1
        """

    /// An entity's version and text, NULL where there is none, if the row is still this one; else nothing.
    func statement(_ store: Int64, stillWith key: EntityKey) -> Statement {
        Statement(
            Self.unchanged, .integer(store), .integer(key.repository), .bytes(key.id.bytes), .bytes(incarnation),
            .integer(Int64(clamping: head)), .integer(Int64(bitPattern: commitIdentifier)),
            .integer(Int64(bitPattern: writes))
        ).repeated
    }

    private static let unchanged = """
        SELECT e.version, e.body FROM holdfast_store s LEFT JOIN holdfast_entity e
        ON e.store = $1 AND e.repository = $2 AND e.id = $3 WHERE s.store = $1 AND s.incarnation = $4
        AND s.head = $5 AND s.commit_id = $6 AND s.writes = $7 AND s.format <= \(Layout.format)
        """

    static func statement(_ store: Int64, _ known: CommitName?) -> Statement {
        Statement(alone, .integer(store), .integer(Int64(clamping: known?.sequence ?? 0))).repeated
    }

    private static let alone = "SELECT \(columns()) FROM holdfast_store s WHERE s.store = $1"

    private static let locked = """
        SELECT \(columns(isSameRun: "s.server_run = " + Layout.serverRun)) FROM holdfast_store s WHERE s.store = $1
        FOR UPDATE OF s
        """

    /// Begins a transaction that has the row to itself, as the last of these finds it. `patience`: for others who have it, in
    /// nanoseconds.
    static func locking(_ store: Int64, _ known: CommitName, patience: Int) -> [Statement] {
        [
            Statement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
            Statement("SET LOCAL lock_timeout = \(max(1, patience / 1_000_000))"),
            leavesWithConnection, .byKeys,
            Statement(locked, .integer(store), .integer(Int64(clamping: known.sequence))).repeated,
        ]
    }

    /// Whoever stops waiting closes the connection: the server looks after that meanwhile, where it can, so that not one waits
    /// there for each who has stopped.
    private static let leavesWithConnection = Statement(
        "SELECT set_config('client_connection_check_interval', '200', true) WHERE version() LIKE '%linux%'")

    init?(_ rows: Rows) {
        guard rows.count == 1 else { return nil }
        format = rows.integer(0, 0)
        incarnation = Array(rows.bytes(0, 1))
        head = UInt64(clamping: rows.integer(0, 2))
        commitIdentifier = UInt64(bitPattern: rows.integer(0, 3))
        writes = UInt64(bitPattern: rows.integer(0, 4))
        reserved = UInt64(clamping: rows.integer(0, 5))
        isSameRun = rows.boolean(0, 6)
        logStart = UInt64(clamping: rows.integer(0, 7))
        catalogue = rows.integer(0, 8)
        known = rows.isNull(0, 9) ? nil : UInt64(bitPattern: rows.integer(0, 9))
        isOfStandby = rows.boolean(0, 10)
    }

    /// As a write transaction that built on this one leaves it.
    func after(_ written: Written) -> StoreRow {
        var row = self
        (row.head, row.commitIdentifier) = (written.head, written.commitIdentifier)
        (row.reserved, row.logStart) = (written.reserved, written.logStart)
        row.writes = writes &+ 1
        row.catalogue = catalogue + (written.changesCatalogue ? 1 : 0)
        row.isSameRun = true
        return row
    }

    var newest: CommitName { CommitName(commitIdentifier, at: head) }

    /// Whether nothing was written between the two.
    func isSameState(as other: StoreRow) -> Bool { newest == other.newest && writes == other.writes }
}

extension CommitName {
    /// Whether a state that was read after this commit was known to be stored goes on from it. A server whose state does not
    /// has lost commits.
    func isPartOf(_ row: StoreRow) -> Bool {
        if sequence == 0 { return true }
        if row.head <= sequence { return row.head == sequence && row.commitIdentifier == identifier }
        // What was trimmed is not known any more.
        return row.known.map { $0 == identifier } ?? (row.logStart > sequence)
    }
}
