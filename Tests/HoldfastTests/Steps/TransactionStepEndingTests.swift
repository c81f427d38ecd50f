import Foundation
import Synchronization
import Testing

@testable import Holdfast

@Suite("A transaction of steps while a call is at its end")
struct TransactionStepEndingTests {
    /// Has a commit wait for a slot while `body` runs; answers how many changes it then stored.
    private func whileCommitting(
        _ transaction: Transaction, of store: Store, _ body: () async throws -> Void
    ) async throws -> Int {
        try store.occupySlot()
        let commit = Task { try await transaction.commit().changes.count }
        try await until("the commit waits for a slot") { store.waitingForSlot == 1 }
        do {
            try await body()
        } catch {
            store.freeSlot()
            throw error
        }
        store.freeSlot()
        return try await commit.value
    }

    private func begin(_ store: Store) async throws -> (Transaction, Repository<Song>) {
        let songs = store.repository(of: Song.self)
        let options = TransactionOptions(timeout: patience)
        let transaction = try store.begin(options)
        try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
        return (transaction, songs)
    }

    private var narrow: StoreOptions {
        StoreOptions(maxInFlight: 1)
    }

    @Test("is ended by no other, and goes on to be written in where nobody was asked")
    func unasked() async throws {
        try await withStore(.memory, narrow) { store in
            let (transaction, songs) = try await begin(store)
            let count = try await whileCommitting(transaction, of: store) {
                await expectError(.invalidState) { try await transaction.commit() }
                await expectError(.invalidState) { try await transaction.validate() }
                await #expect(transaction.state == .open)
                try await transaction.joined { try await songs.save(Song(id: "s2", title: "")) }
            }
            #expect(count == 2)
            await expectError(.invalidState) { try await transaction.commit() }
        }
    }

    @Test("is written in no more once validators were asked")
    func asked() async throws {
        try await withStore(.memory, narrow) { store in
            try await store.repository(of: Song.self).setValidator { _, _ in }
            let (transaction, songs) = try await begin(store)
            let count = try await whileCommitting(transaction, of: store) {
                await expectError(.invalidState) { try await transaction.commit() }
                await expectError(.invalidState) { try await transaction.validate() }
                await expectError(.reentrant) {
                    try await transaction.joined { _ = try await songs.save(Song(id: "s2", title: "")) }
                }
                await expectError(.reentrant) { try await transaction.rollback() }
            }
            #expect(count == 1)
        }
    }

    @Test("can be rolled back meanwhile, where nobody was asked, and then is not stored")
    func rolledBack() async throws {
        try await withStore(.memory, narrow) { store in
            let (transaction, songs) = try await begin(store)
            await expectError(.invalidState) {
                _ = try await whileCommitting(transaction, of: store) { try await transaction.rollback() }
            }
            await #expect(transaction.state == .rolledBack)
            try await #expect(songs.count() == 0)
        }
    }

    @Test("is ended by no validator")
    func validator() async throws {
        try await withStore(.memory) { store in
            let ending = Mutex<Transaction?>(nil)
            let statuses = Mutex<[Status?]>([])
            try await store.repository(of: Song.self).setValidator { _, _ in
                guard let transaction = ending.withLock({ $0 }) else { return }
                for call in [{ _ = try transaction.blocking.commit() }, transaction.blocking.validate] {
                    do {
                        try call()
                        statuses.withLock { $0.append(nil) }
                    } catch { statuses.withLock { $0.append((error as? HoldfastError)?.status) } }
                }
            }
            let (transaction, _) = try await begin(store)
            ending.withLock { $0 = transaction }
            try await transaction.commit()
            ending.withLock { $0 = nil }
            #expect(statuses.withLock { $0 } == [.invalidState, .invalidState])
        }
    }
}
