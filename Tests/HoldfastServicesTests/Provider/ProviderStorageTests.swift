import HoldfastCore
import HoldfastServices
import HoldfastStorage
import StorageConformance
import Testing

struct ProviderStorageTests {
    /// A dictionary, opened once: what is no entity ends with the storage.
    private final class Place: StoragePlace {
        let provider: DictionaryProvider
        init(_ abilities: HostProviderAbilities) { provider = DictionaryProvider(abilities) }

        func open() throws -> any Storage {
            try ProviderStorage(provider, startingAt: 0, checksEntities: false)
        }
    }

    private static let checks = StorageConformance.checks.filter { !$0.keepsEverything }

    @Test(arguments: checks)
    func `a provider with four functions conforms`(check: StorageConformance.Check) throws {
        try check.run(at: Place([]))
    }

    @Test(arguments: checks)
    func `a provider with every function conforms`(check: StorageConformance.Check) throws {
        try check.run(at: Place([.apply, .changeToken, .sync]))
    }

    @Test func `only checks of what lasts beyond the process are left out`() {
        #expect(StorageConformance.checks.count - Self.checks.count == 15)
    }
}
