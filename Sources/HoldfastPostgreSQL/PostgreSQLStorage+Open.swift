public import HoldfastEnvironment
internal import HoldfastStorage

extension PostgreSQLStorage {
    /// Opens the store, and makes it, and the tables, where they are missing and may be made.
    public static func open(
        _ url: ServerURL, _ options: PostgreSQLOptions = PostgreSQLOptions(), environment: Environment = .system
    ) throws(HoldfastError) -> PostgreSQLStorage {
        try ServerURL.check(options.store, .invalidOption)
        // Before a thread waits for it.
        _ = try LibPQ.load()
        let stop = Interrupt.Flag()
        return try Interrupt.whileAsking(environment.limits, stop: stop.set) { () throws(HoldfastError) in
            let pool = ConnectionPool(url, options, environment)
            let connection = try pool.take(stop)
            defer { pool.give(connection) }
            try check(connection, options)
            let (number, incarnation) = try find(options, on: connection, environment)
            let storage = PostgreSQLStorage(
                number: number, incarnation: incarnation, location: place(url, options), pool: pool, options,
                environment)
            if !options.readOnly {
                // Finds out what the server may have lost.
                let deadline = Connection.now() &+ options.patience
                guard try storage.lockRow(until: deadline) else {
                    throw HoldfastError.lockedOut(of: storage.location)
                }
                storage.releaseWriteLock()
            }
            return storage
        }
    }

    private static func place(_ url: ServerURL, _ options: PostgreSQLOptions) -> String {
        options.store == ServerURL.standardStore ? url.place : "\(url.place), store \"\(options.store)\""
    }

    private static func check(_ connection: Connection, _ options: PostgreSQLOptions) throws(HoldfastError) {
        guard connection.serverVersion >= Layout.oldestServer else {
            throw HoldfastError(
                .cannotOpen,
                "\(connection.place) is PostgreSQL \(connection.serverVersion / 10_000): stores need "
                    + "\(Layout.oldestServer / 10_000) or later")
        }
        let rows = try connection.run(
            [
                Statement(
                    """
                    SELECT pg_is_in_recovery(), (SELECT pg_encoding_to_char(encoding) FROM pg_database
                    WHERE datname = current_database())
                    """)
            ], "opening")[0]
        if rows.boolean(0, 0) && !options.readOnly {
            throw HoldfastError(
                .readOnly,
                "\(connection.place) is a standby: connect to the primary (\"target_session_attrs=read-write\"), or open "
                    + "with \"read_only\": true")
        }
        let encoding = rows.text(0, 1)
        guard encoding == "UTF8" else {
            throw HoldfastError(
                .cannotOpen,
                "\(connection.place) is a database in the encoding \(encoding): make one with ENCODING 'UTF8' for stores"
            )
        }
    }

    /// The store's number and incarnation.
    private static func find(
        _ options: PostgreSQLOptions, on connection: Connection, _ environment: Environment
    ) throws(HoldfastError) -> (Int64, [UInt8]) {
        let mayCreate = options.create && !options.readOnly
        if try connection.run([Statement("SELECT to_regclass('holdfast_store') IS NULL")], "opening")[0].boolean(0, 0) {
            guard mayCreate else { throw missing(connection.place, options.store) }
            try create(on: connection)
        }
        var attempts = 0
        while true {
            attempts += 1
            let question = "SELECT store, incarnation, format FROM holdfast_store WHERE name = $1"
            let rows = try connection.run([Statement(question, .text(options.store))], "opening")[0]
            if rows.count > 0 {
                guard rows.integer(0, 2) <= Layout.format else {
                    throw HoldfastError(
                        .formatTooNew,
                        "the store \"\(options.store)\" of \(connection.place) was made by a newer version of this "
                            + "library: install that")
                }
                return (rows.integer(0, 0), Array(rows.bytes(0, 1)))
            }
            guard mayCreate else { throw missing(connection.place, options.store) }
            let words = [environment.random.next(), environment.random.next()]
            do throws(HoldfastError) {
                try connection.run(
                    [
                        Statement(
                            """
                            INSERT INTO holdfast_store (store, name, format, incarnation, head, commit_id, writes, reserved,
                            server_run, log_start, catalogue)
                            SELECT \(Layout.freeNumber), $1, $2, $3, 0, 0, 0, 0, \(Layout.serverRun), 0, 0
                            """, .text(options.store), .integer(Layout.format),
                            .bytes(words.withUnsafeBytes { Array($0) }))
                    ], "creating a store in")
            } catch {
                // Another process was faster, with this store or with another one. Where row security hides its row, for ever.
                guard error.isRaceOfCreators, attempts < 10 else { throw error }
            }
        }
    }

    private static func missing(_ place: String, _ store: String) -> HoldfastError {
        HoldfastError(
            .cannotOpen, "there is no store \"\(store)\" in \(place): allow \"create\", or check the URL and the name")
    }

    /// Two that create at once may be in each other's way also where each asks first.
    private static func create(on connection: Connection) throws(HoldfastError) {
        for attempt in 1...10 {
            do throws(HoldfastError) {
                connection.isInTransaction = true
                try connection.run(
                    [Statement("BEGIN")] + Layout.creation.map { Statement($0) } + [Statement("COMMIT")],
                    "creating the tables in")
                connection.isInTransaction = false
                return
            } catch {
                connection.rollBack()
                guard error.isRaceOfCreators, attempt < 10 else {
                    guard error.status == .readOnly else { throw error }
                    throw HoldfastError(
                        .cannotOpen,
                        "this role may not make the tables of stores in \(connection.place): grant it CREATE on the schema, "
                            + "or have another role open the store once", detail: error.detail, cause: error)
                }
            }
        }
    }
}

extension HoldfastError {
    /// unique_violation, also of PostgreSQL's own catalogue, duplicate_table, and duplicate_object, of the type that a table has.
    fileprivate var isRaceOfCreators: Bool {
        ["23505", "42P07", "42710", "40001", "40P01"].contains(sqlState)
    }
}
