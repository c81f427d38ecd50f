import HoldfastCore
import HoldfastStorage
import StorageConformance
import Testing

@Suite struct ConformanceTests {
    /// Each check's files in a directory of its own.
    private final class Place: StoragePlace {
        let directory = Directory()
        func open() throws -> any Storage { try directory.open() }
    }

    @Test(arguments: StorageConformance.checks)
    func `the SQLite engine conforms`(check: StorageConformance.Check) throws { try check.run(at: Place()) }
}
