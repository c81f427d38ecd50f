public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastPostgreSQL
internal import HoldfastSQLite
public import HoldfastServices
public import HoldfastStorage

/// The one place that knows every engine: a store's URL names which of them keeps it.
///
///     memory:                          the process's memory
///     sqlite:PATH, or a plain path     an SQLite file
///     postgresql://… or postgres://…   a store in a PostgreSQL database
public enum StoreURL {
    /// The engines of this library, by the names that `hf_feature_available` knows.
    public static let engines = ["memory", "sqlite", "postgresql"]

    public static func open(
        _ url: String, options: StoreOptions, environment: Environment = .system
    ) throws(HoldfastError) -> Store {
        let storage: any Storage
        var name = url
        let place = try parse(url)
        if options.store != nil {
            guard case .server = place else {
                throw HoldfastError(
                    .invalidOption,
                    "\"store\" names one of a server's stores, and \"\(url)\" is one by itself: leave it out",
                    detail: [("option", .text("store"))])
            }
        }
        switch place {
        case .memory:
            storage = MemoryStorage(state: .fresh(random: environment.random))
        case .file(let path):
            var settings = SQLiteOptions()
            settings.create = options.create
            settings.readOnly = options.readOnly
            settings.lockTimeoutMilliseconds = options.lockTimeoutMilliseconds
            settings.snapshotMaxAgeMilliseconds = options.snapshotMaxAgeMilliseconds
            settings.walLimitBytes = options.walLimitBytes
            settings.allowUnsafeLocation = options.allowUnsafeLocation
            settings.mode = options.mode
            storage = try SQLiteStorage.open(path: path, options: settings, environment: environment)
        case .server(let server):
            storage = try open(server, options, environment)
            // What describes the store shall tell no password.
            name = server.place
        }
        return try Store.open(url: name, storage: storage, options: options, environment: environment)
    }

    private static func open(
        _ server: ServerURL, _ options: StoreOptions, _ environment: Environment
    ) throws(HoldfastError) -> PostgreSQLStorage {
        if let inURL = server.store, let inOptions = options.store, inURL != inOptions {
            throw HoldfastError(
                .invalidOption,
                "the URL names the store \"\(inURL)\" and the option \"store\" another, \"\(inOptions)\": give one of them",
                detail: [("option", .text("store"))])
        }
        var settings = PostgreSQLOptions()
        settings.store = options.store ?? server.store ?? ServerURL.standardStore
        settings.create = options.create
        settings.readOnly = options.readOnly
        settings.lockTimeoutMilliseconds = options.lockTimeoutMilliseconds
        settings.maxConnections = options.maxConnections
        settings.maxStaleness = options.maxStaleness
        return try PostgreSQLStorage.open(server, settings, environment: environment)
    }

    /// Makes a store at `url` from a backup.
    public static func restore(
        from backup: String, to url: String, _ options: RestoreOptions, environment: Environment = .system,
        _ progress: Progress
    ) throws(HoldfastError) {
        guard case .file(let path) = try parse(url) else {
            throw HoldfastError(
                .unsupported,
                "a backup is restored to a file, and the URL names none: give a path, and import its export elsewhere")
        }
        var settings = SQLiteOptions()
        settings.lockTimeoutMilliseconds = options.lockTimeoutMilliseconds
        settings.allowUnsafeLocation = options.allowUnsafeLocation
        let epoch = processEpoch()
        try SQLiteStorage.restore(
            from: backup, to: path, replaces: options.replaces, options: settings, environment: environment
        ) { done, total throws(HoldfastError) in
            let goesOn = try progress(done, total)
            // In a child that the host's code has forked, the files are the parent's.
            if processEpoch() != epoch { throw HoldfastError(.forked, "the restoring belongs to the parent process") }
            return goesOn
        }
        DiagnosticsLog.write(.info, "store restored", [("store", .text(path)), ("backup", .text(backup))])
    }

    private enum Place {
        case memory
        case file(String)
        case server(ServerURL)
    }

    private static func parse(_ url: String) throws(HoldfastError) -> Place {
        guard !url.isEmpty else {
            throw HoldfastError(.invalidURL, "the store's URL is empty: give a path, or \"memory:\"")
        }
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), isScheme(url.utf8[..<colon]) else {
            return try file(url)
        }
        let rest = String(url[url.index(after: colon)...])
        // In any case: RFC 3986, section 3.1.
        switch url[..<colon].lowercased() {
        case "memory":
            guard rest.isEmpty else {
                throw HoldfastError(
                    .invalidURL, "\"\(url)\" names a place in memory: give \"memory:\" alone, each open is a new store")
            }
            return .memory
        case "sqlite":
            guard !rest.isEmpty else {
                throw HoldfastError(.invalidURL, "\"\(url)\" has no path: give \"sqlite:PATH\"")
            }
            return try file(rest)
        case let scheme where ServerURL.schemes.contains(scheme): return .server(try ServerURL(url))
        default:
            throw HoldfastError(
                .invalidURL,
                "no engine is called \"\(url[..<colon])\": give a path, \"sqlite:PATH\", \"postgresql://HOST/DATABASE\" or \"memory:\" (a path that begins "
                    + "like a scheme is written \"./\(url)\")")
        }
    }

    private static func file(_ path: String) throws(HoldfastError) -> Place {
        guard path != ":memory:" else {
            throw HoldfastError(
                .invalidURL,
                "\":memory:\" is what SQLite calls a place in memory: give \"memory:\" for that, or \"./:memory:\" for a "
                    + "file of this name")
        }
        return .file(path)
    }

    /// RFC 3986, section 3.1.
    private static func isScheme(_ bytes: Substring.UTF8View) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        guard let first = bytes.first, isLetter(first) else { return false }
        return bytes.allSatisfy { byte in
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.".utf8.contains(byte)
        }
    }
}
