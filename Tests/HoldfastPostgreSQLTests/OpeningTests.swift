import HoldfastCore
import HoldfastEngines
import HoldfastEnvironment
import HoldfastPostgreSQL
import HoldfastStorage
import StorageConformance
import Testing

@Suite struct OpeningTests {
    private static let cluster = Cluster()
    private var cluster: Cluster { Self.cluster }

    @Test(arguments: [
        "postgresql:music", "postgresql://h/d?holdfast_store=%zz", "postgresql://h/d?holdfast_store=%",
        "postgresql://h/d?holdfast_store", "postgresql://h/d?holdfast_store=", "postgres://h/d?holdfast_store=%FF",
        "postgresql://h/d?holdfast_store=a&holdfast_store=b", "postgresql://h/d?holdfast_store=%0A",
        "postgresql://h/d?holdfast_store=\(String(repeating: "a", count: 256))",
    ])
    func `a URL that names no store is refused`(url: String) {
        #expect(error { () throws(HoldfastError) in _ = try ServerURL(url) }?.status == .invalidURL)
    }

    @Test func `a URL is shown without what is secret, and the store's name is kept from libpq`() throws {
        let url = try ServerURL(
            "POSTGRESQL://me:pass%40word@h1:1,h2:2/d?sslmode=require&password=secret&holdfast_store=a%20b&sslpassword=s"
        )
        #expect(url.place == "postgresql://me@h1:1,h2:2/d?sslmode=require&holdfast_store=a%20b")
        #expect(url.store == "a b")
        #expect(try ServerURL("postgres://").place == "postgresql://")
        #expect(try ServerURL("postgres://h?holdfast_store=\(String(repeating: "a", count: 255))").store?.count == 255)
    }

    @Test func `what libpq does not understand is told without the URL`() {
        for url in [
            "postgresql://me:secret@h:nonsense/d", "postgresql://me:secret@h/d?nonsense=1", "postgresql://[::1/d",
        ] {
            let error = error { () throws(HoldfastError) in _ = try open(url) }
            #expect(error?.status == .cannotOpen)
            #expect(error?.message.contains("secret") == false)
        }
    }

    @Test func `where no server is, no database, or no right, the message says so`() {
        let found = [
            error { () throws(HoldfastError) in _ = try open("postgresql://%2Fnowhere/d") },
            error { () throws(HoldfastError) in _ = try open(cluster.url.replacing("5432/postgres", with: "5432/never"))
            },
            error { () throws(HoldfastError) in _ = try open(cluster.url.replacing("postgres@", with: "stranger@")) },
        ]
        for (error, words) in zip(found, ["nowhere", "\"never\" does not exist", "\"stranger\" does not exist"]) {
            #expect(error?.status == .cannotOpen)
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
    }

    @Test func `a wrong password is told, and which role it is of`() {
        cluster.sql("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'")
        let url = cluster.url.replacing("postgres@", with: "guarded:wrong@")
        let error = error { () throws(HoldfastError) in _ = try open(url) }
        #expect(error?.status == .cannotOpen)
        #expect(error?.message.contains("password authentication failed for user \"guarded\"") == true)
        #expect(error?.message.contains("wrong") == false)
        #expect(throws: Never.self) {
            _ = try open(cluster.url.replacing("postgres@", with: "guarded:right@")) { $0.store = "guarded" }
        }
    }

    @Test func `a server that does not answer is waited for no longer than asked`() throws {
        // It takes the connection and says nothing.
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        let folder = "\(cluster.folder)/silent"
        mkdir(folder, 0o700)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: "\(folder)/.s.PGSQL.5432".utf8) }
        let bound = withUnsafeBytes(of: &address) { bytes in
            bind(
                listener, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size))
        }
        try #require(bound == 0 && listen(listener, 1) == 0)
        let began = SystemTime().monotonicNanoseconds()
        let url = "postgresql://me@\(folder.replacing("/", with: "%2F"))/d"
        let error = error { () throws(HoldfastError) in _ = try open(url) { $0.lockTimeoutMilliseconds = 100 } }
        #expect(error?.status == .cannotOpen)
        #expect(error?.message.contains("did not answer in time") == true)
        #expect(SystemTime().monotonicNanoseconds() - began > 90_000_000)
    }

    @Test func `a database in another encoding is refused`() {
        let url = cluster.database("ascii", "ENCODING 'SQL_ASCII' TEMPLATE template0")
        let error = error { () throws(HoldfastError) in _ = try open(url) }
        #expect(error?.status == .cannotOpen)
        #expect(error?.message.contains("SQL_ASCII") == true)
    }

    @Test func `a role needs no more than the four privileges, and to read one of them`() throws {
        let url = cluster.database("shared")
        cluster.sql("CREATE ROLE plain LOGIN; CREATE ROLE reader LOGIN")
        let asPlain = url.replacing("postgres@", with: "plain@")
        let asReader = url.replacing("postgres@", with: "reader@")
        let refusal = error { () throws(HoldfastError) in _ = try open(asPlain) }
        #expect(refusal?.status == .cannotOpen)
        #expect(refusal?.message.contains("CREATE") == true)
        let missing = error { () throws(HoldfastError) in _ = try open(asPlain) { $0.create = false } }
        #expect(missing?.message.contains("there is no store") == true)

        try open(url).close(head: 0)
        let ungranted = error { () throws(HoldfastError) in _ = try open(asPlain) }
        #expect(ungranted?.status == .readOnly)
        #expect(ungranted?.message.contains("grant SELECT, INSERT, UPDATE and DELETE") == true)
        cluster.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO plain", at: url)
        cluster.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", at: url)

        let storage = try open(asPlain)
        try storage.store(["a": "1"], at: 1)
        try storage.close(head: 1)
        #expect(error { () throws(HoldfastError) in _ = try open(asReader) }?.status == .readOnly)
        let reading = try open(asReader) { $0.readOnly = true }
        #expect(try reading.text("a") == "{1}")
        #expect(error { () throws(HoldfastError) in _ = try reading.beginWrite(durable: true) }?.status == .readOnly)
        try reading.sync()
        try reading.close(head: 1)
    }

    @Test func `a store of a newer format is refused`() throws {
        try open(cluster.url) { $0.store = "newer" }.close(head: 0)
        cluster.sql("UPDATE holdfast_store SET format = 2 WHERE name = 'newer'")
        let error = error { () throws(HoldfastError) in _ = try open(cluster.url) { $0.store = "newer" } }
        #expect(error?.status == .formatTooNew)
    }

    @Test func `many may make the first stores of a database at once`() throws {
        let url = cluster.database("contested")
        let failures = Lock<[String]>([])
        let numbers = Lock<Set<Int>>([])
        var threads: [any Worker] = []
        for number in 0..<8 {
            threads.append(
                try ThreadWorkers().start(name: "opener") {
                    do throws(HoldfastError) {
                        let storage = try open(url) { $0.store = "s\(number / 2)" }
                        let head = try storage.readState().head
                        numbers.withLock { _ = $0.insert(number) }
                        try storage.close(head: head)
                    } catch {
                        failures.withLock { $0.append(error.message) }
                    }
                    return .finished
                })
        }
        for thread in threads { _ = thread.waitUntilFinished(deadline: nil) }
        #expect(failures.withLock { $0 } == [])
        #expect(cluster.sql("SELECT count(*), count(DISTINCT store) FROM holdfast_store", at: url) == "4|4")
    }

    @Test func `as many connections are opened as asked, and who comes then is told`() throws {
        let storage = try open(cluster.url) { options in
            (options.store, options.maxConnections, options.lockTimeoutMilliseconds) = ("few", 3, 50)
        }
        try storage.store(["a": "1"], at: 1)
        let snapshots = [try storage.beginSnapshot(), try storage.beginSnapshot()]
        let error = error { () throws(HoldfastError) in _ = try storage.beginSnapshot() }
        #expect(error?.status == .busy)
        #expect(error?.message.contains("max_connections") == true)
        snapshots[0].close()
        #expect(try storage.text("a") == "{1}")
        snapshots[1].close()
        try storage.close(head: 1)
    }
}
