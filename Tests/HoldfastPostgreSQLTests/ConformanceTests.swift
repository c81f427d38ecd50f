import HoldfastCore
import HoldfastEnvironment
import HoldfastPostgreSQL
import HoldfastStorage
import StorageConformance
import Testing

@Suite(.serialized) struct ConformanceTests {
    private static let cluster = Cluster()

    /// Each check's store in a database of the one server. A storage that was let go of without closing has ended with its
    /// server: what a process alone leaves open takes nothing with it.
    private final class Place: StoragePlace {
        private weak var last: PostgreSQLStorage?
        private var wasOpened = false
        private let name: String

        init(_ name: String) { self.name = name }

        func open() throws -> any Storage {
            if wasOpened && last == nil {
                cluster.crash()
                cluster.start()
            }
            wasOpened = true
            let storage = try HoldfastPostgreSQLTests.open(cluster.url) { $0.store = name }
            last = storage
            return storage
        }
    }

    @Test(arguments: StorageConformance.checks)
    func `the PostgreSQL engine conforms`(check: StorageConformance.Check) throws {
        try check.run(at: Place(check.description))
    }
}
