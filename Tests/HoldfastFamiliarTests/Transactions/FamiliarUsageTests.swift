import Foundation
import HoldfastFamiliar
import Testing

/// The usage that people know from a repository whose calls are transactions. What differs: the protocol of its blocking
/// calls is `SyncRepository`, which a store's repository is as a `StoreRepository`, its reads throw, making a transaction throws nothing, and what is captured is `Sendable`.
@Suite("As known from repositories of transactions")
struct FamiliarTransactionTests {
    struct Person: Codable, Identifiable, Sendable, Equatable {
        var id: String
        var name: String
    }

    @Test("adding a person, synchronously and asynchronously")
    func addingAPerson() async throws {
        let store = try await Store.open("memory:")
        let repository = StoreRepository<Person>(store)
        let personToSave = Person(id: "p1", name: "Ada")
        let transaction: AnyTransaction<Person> = repository.add(personToSave)

        // Sync transaction
        let result = try transaction.perform()
        #expect(result == personToSave)

        try repository.delete(personToSave).perform()

        // Async transaction
        let later = try await transaction.performAsync()
        #expect(later == personToSave)

        let everybody: AnyTransaction<[Person]> = repository.fetch(where: nil)
        let ada: AnyTransaction<Person?> = repository.first(where: { $0.name == "Ada" })
        let renamed: AnyTransaction<Person> = repository.update(Person(id: "p1", name: "Ada Lovelace"))
        let removal: AnyTransaction<Void> = repository.delete(personToSave)
        #expect(try ada.perform() == personToSave)
        #expect(try renamed.perform().name == "Ada Lovelace")
        #expect(try ada.perform() == nil)
        #expect(try everybody.perform().count == 1)
        try removal.perform()
        #expect(try everybody.perform().isEmpty)
        try await store.close()
    }

    @Test("a transaction of one's own, which needs only perform")
    func ownTransaction() async throws {
        struct Count: Transaction, Sendable {
            let repository: any SyncRepository<Person>
            func perform() throws -> Int { try repository.getAll.count }
        }
        let store = try await Store.open("memory:")
        let transaction = Count(repository: StoreRepository<Person>(store))
        #expect(try transaction.perform() == 0)
        let result = try await transaction.performAsync()
        #expect(result == 0)
        let publisher: TransactionPublisher<Int> = transaction.publisher
        _ = publisher
        try await store.close()
    }
}

/// The usage that people know from a function that waits for a completion. What differs: the name, because `await` is a
/// keyword, and that it is refused on threads that must not wait.
@Suite("As known from waiting for a completion")
struct FamiliarWaitingTests {
    struct ZoneID: Sendable, Equatable { var name: String }
    struct UserIdentity: Sendable { var email: String }
    struct Group: Sendable { var name: String }
    enum ZoneState: Sendable {
        case found(ZoneID)
        case missing
    }

    final class CloudKitCoordinator: Sendable {
        struct ZoneExistsError: Error {}
        struct DiscoverUserError: Error {}
        struct ShareError: Error {}
        let fails: String?
        init(fails: String? = nil) { self.fails = fails }

        func zoneExists(zoneName: String, completion: @escaping @Sendable (Result<ZoneState, ZoneExistsError>) -> Void)
        {
            let result: Result<ZoneState, ZoneExistsError> =
                switch fails {
                case "zone": .failure(ZoneExistsError())
                case "found": .success(.missing)
                default: .success(.found(ZoneID(name: zoneName)))
                }
            Thread.detachNewThread { completion(result) }
        }

        func discoverUserWithEmail(completion: @escaping @Sendable (Result<UserIdentity?, DiscoverUserError>) -> Void) {
            if fails == "time" { return }
            let result: Result<UserIdentity?, DiscoverUserError> =
                fails == "user" ? .failure(DiscoverUserError()) : .success(UserIdentity(email: "ada@example.org"))
            Thread.detachNewThread { completion(result) }
        }

        func share(
            group: Group, with users: [UserIdentity], in zone: ZoneID,
            completion: @escaping @Sendable (Result<Int, ShareError>) -> Void
        ) {
            let result: Result<Int, ShareError> = fails == "share" ? .failure(ShareError()) : .success(users.count)
            Thread.detachNewThread { completion(result) }
        }
    }

    private static func attemptToShare(
        _ cloudKitCoordinator: CloudKitCoordinator, within timeout: Duration = .seconds(10)
    ) -> String {
        do {
            // 1a. Can we find an existing sharing zone?
            let didFindZoneIDResult = try awaitResult { awaitCompletion in
                cloudKitCoordinator.zoneExists(zoneName: "groups") { awaitCompletion($0) }
            }
            // 1b. Did we find it?
            guard case .found(let foundZoneID) = didFindZoneIDResult else { return "Zone not found" }

            // 2a. Can we find the user they want to share it with?
            let possibleUserIdentity = try awaitResult(timeout: timeout) { awaitCompletion in
                cloudKitCoordinator.discoverUserWithEmail { awaitCompletion($0) }
            }
            // 2b. Did we find it?
            guard let userIdentity = possibleUserIdentity else { return "User not found" }

            // 3. We have a group, the participants, and the zone. Can we share?
            let group = Group(name: "friends")
            let invites = try awaitResult(asyncExecutionBlock: { asyncExecutionCompletedBlock in
                cloudKitCoordinator.share(group: group, with: [userIdentity], in: foundZoneID) { shareResult in
                    asyncExecutionCompletedBlock(shareResult)
                }
            })
            return "Shared with \(invites)!"
        } catch is CloudKitCoordinator.ZoneExistsError {
            return "Failed finding zone"
        } catch is CloudKitCoordinator.DiscoverUserError {
            return "Failed discovering user"
        } catch is CloudKitCoordinator.ShareError {
            return "Failed sharing record"
        } catch is AwaitError {
            return "Operation timed out"
        } catch {
            return "Unknown error occurred"
        }
    }

    @Test(
        "finding a zone, discovering a user and sharing, one after the other",
        arguments: [
            (nil, "Shared with 1!"), ("zone", "Failed finding zone"), ("found", "Zone not found"),
            ("user", "Failed discovering user"), ("share", "Failed sharing record"), ("time", "Operation timed out"),
        ] as [(String?, String)])
    func sharing(fails: String?, outcome: String) async throws {
        let told = try await onThread {
            Self.attemptToShare(
                CloudKitCoordinator(fails: fails), within: fails == "time" ? .milliseconds(50) : .seconds(60))
        }
        #expect(told == outcome)
    }
}
