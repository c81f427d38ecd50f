import Foundation
import Synchronization
import Testing

@testable import Holdfast

@Suite("A transaction of steps whose commit is given up")
struct TransactionStepCancellationTests {
    @Test("stays open when its commit gets no slot, or its task is cancelled before")
    func noPlace() async throws {
        let options = StoreOptions(maxInFlight: 1)
        try await withSongs(.memory, options) { store, songs in
            try await songs.setValidator { _, _ in }
            var impatient = TransactionOptions()
            impatient.timeout = .zero
            let transaction = try store.begin(impatient)
            try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
            try store.occupySlot()
            await expectError(.busy) { try await transaction.commit() }
            store.freeSlot()
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await transaction.commit()
            }
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            await #expect(transaction.state == .open)
            try await transaction.joined { try await songs.save(Song(id: "s2", title: "")) }
            try await #expect(transaction.commit().changes.count == 2)
        }
    }

    @Test(
        "tells the truth about a commit whose task was cancelled, and what stays open can be committed",
        arguments: Engine.allCases)
    func cancelled(_ engine: Engine) async throws {
        let options = StoreOptions(maxInFlight: 200)
        try await withSongs(engine, options) { store, songs in
            var expected: Set<String> = []
            // Until both were met.
            var met: Set<Transaction.State> = []
            for round in 0..<100 where !met.isSuperset(of: [.open, .committed]) {
                let tasks = (0..<1000).map { number in
                    let id = "r\(round)s\(number)"
                    return Task { () -> (String, Transaction, (any Error)?) in
                        let transaction = try store.begin()
                        try await Task.detached {
                            try await transaction.joined { _ = try await songs.save(Song(id: id, title: "")) }
                        }.value
                        do { try await transaction.commit() } catch { return (id, transaction, error) }
                        return (id, transaction, nil)
                    }
                }
                _ = try await tasks[0].value
                for task in tasks { task.cancel() }
                for task in tasks {
                    let (id, transaction, error) = try await task.value
                    let state = await transaction.state
                    met.insert(state)
                    switch state {
                    case .committed: #expect(error == nil)
                    case .open, .failed: #expect(error is CancellationError)
                    default: Issue.record("\(state)")
                    }
                    if state == .open { try await transaction.commit() }
                    if state != .failed { expected.insert(id) }
                }
            }
            #expect(met.isSuperset(of: [.open, .committed]))
            try await #expect(Set(songs.fetchAll().map(\.id)) == expected)
        }
    }

    @Test("has failed when it was withdrawn from the queue, and nothing of it is stored")
    func withdrawn() async throws {
        let library = GatedLibrary()
        let store = try await Store.open(provider: library)
        let songs = store.repository(of: Song.self)
        let first = try store.begin()
        try await first.joined { _ = try await songs.save(Song(id: "s1", title: "")) }
        let second = try store.begin()
        try await second.joined { _ = try await songs.save(Song(id: "s2", title: "")) }
        let committing = Task { try await first.commit() }
        for await _ in library.saving.stream { break }
        // Behind the other, which is being stored.
        let queued = Task { try await second.commit() }
        while try store.describe().inFlight < 2 { await Task.yield() }
        queued.cancel()
        await #expect(throws: CancellationError.self) { try await queued.value }
        await #expect(second.state == .failed)
        await expectError(.invalidState) { try await second.commit() }
        var impatient = TransactionOptions()
        impatient.timeout = .milliseconds(20)
        let third = try store.begin(impatient)
        try await third.joined { _ = try await songs.save(Song(id: "s3", title: "")) }
        // Told while the other still stands in the way.
        let error = await expectError(.timeout) { _ = try await third.commit() }
        #expect(error?.commitState == HoldfastError.CommitState.none)
        // It is too late for the other, whose outcome is told.
        committing.cancel()
        library.goOn.continuation.yield()
        try await #expect(committing.value.changes.count == 1)
        await #expect(third.state == .failed)
        #expect(library.songs.withLock { $0.keys.sorted() } == ["s1"])
        await #expect(first.state == .committed)
        try await store.close()
    }
}

/// Tells when it is to save something, and waits.
private final class GatedLibrary: StorageProvider {
    let saving = AsyncStream<Void>.makeStream()
    let goOn = AsyncStream<Void>.makeStream()
    let songs = Mutex<[String: Song]>([:])

    func save(_ song: Song) async {
        saving.continuation.yield()
        for await _ in goOn.stream { break }
        songs.withLock { $0[song.id] = song }
    }
    func fetchAll() -> [Song] { songs.withLock { Array($0.values) } }
    func fetch(id: String) -> Song? { songs.withLock { $0[id] } }
    func delete(id: String) { songs.withLock { $0[id] = nil } }
}
