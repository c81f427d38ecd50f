internal import HoldfastCore
import Synchronization
import Testing

@testable import Holdfast

extension Holdfast.Store {
    /// As a commit does that does not end.
    func occupySlot() throws { #expect(try core.queue.takeFreeSlot()) }

    func freeSlot() { core.queue.delivered(1) }

    var hasFreeSlot: Bool { get throws { try core.queue.takeFreeSlot() } }

    /// How many tasks wait for a slot.
    var waitingForSlot: Int { core.queue.claimCount }
}

@Suite("Tasks that commit more than the store lets in")
struct SlotTests {
    private func withNarrowStore(
        _ body: (Holdfast.Store, GatedLibrary, Holdfast.Repository<Song>) async throws -> Void
    ) async throws {
        let library = GatedLibrary()
        var options = Holdfast.StoreOptions()
        options.maxInFlight = 1
        // Whatever fails, nobody waits for it.
        defer { library.goOn.finish() }
        let store = try await Store.open(provider: library, options)
        try await body(store, library, store.repository(of: Song.self))
        library.goOn.finish()
        try await store.close()
    }

    @Test("wait for a slot, and get it in their order")
    func order() async throws {
        try await withNarrowStore { store, library, songs in
            var tasks = [Task { _ = try await songs.save(Song(id: "s0", title: "")) }]
            for await _ in library.saving.stream { break }
            for number in 1..<20 {
                let song = Song(id: "s\(number)", title: "")
                tasks.append(
                    Task {
                        // A save alone is one commit; a transaction waits in the same line.
                        if number.isMultiple(of: 2) {
                            _ = try await songs.save(song)
                            return
                        }
                        _ = try await store.transaction(.patient) { try await songs.save(song) }
                    })
                try await until("it has lined up, before the next") { store.waitingForSlot == number }
            }
            library.goOn.finish()
            for task in tasks { try await task.value }
            #expect(library.saved.withLock { $0 } == (0..<20).map { "s\($0)" })
        }
    }

    @Test("wait no longer than they may, nor when they are cancelled, and leave no slot behind, nor one too many")
    func givingUp() async throws {
        try await withNarrowStore { store, library, songs in
            let first = Task { _ = try await songs.save(Song(id: "s0", title: "")) }
            for await _ in library.saving.stream { break }
            for timeout in [Duration.zero, .milliseconds(30)] {
                var options = Holdfast.TransactionOptions()
                options.timeout = timeout
                let transaction = try store.begin(options)
                try await transaction.joined { _ = try await songs.save(Song(id: "no", title: "")) }
                let error = await expectError(.busy) { _ = try await transaction.commit() }
                #expect(
                    error?.message.hasSuffix("in flight, which is the store's limit: wait, or raise maxInFlight")
                        == true)
                await #expect(transaction.state == .open)
            }
            let cancelled = Task { _ = try await songs.save(Song(id: "no", title: "")) }
            let waiting = Task { _ = try await songs.save(Song(id: "s1", title: "")) }
            try await until("both have lined up") { store.waitingForSlot == 2 }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            #expect(store.waitingForSlot == 1)
            library.goOn.finish()
            try await first.value
            try await waiting.value
            try await until("the slot is free") { (try? store.describe().inFlight) == 0 }
            #expect(store.waitingForSlot == 0)
            try store.occupySlot()
            try #expect(!store.hasFreeSlot)
            store.freeSlot()
            try await songs.save(Song(id: "s2", title: ""))
            #expect(library.saved.withLock { $0 } == ["s0", "s1", "s2"])
        }
    }

    @Test("are told when the store closes meanwhile")
    func closing() async throws {
        try await withNarrowStore { store, library, songs in
            let first = Task { _ = try await songs.save(Song(id: "s0", title: "")) }
            for await _ in library.saving.stream { break }
            let waiting = [
                Task { _ = try await songs.save(Song(id: "s1", title: "")) },
                Task { _ = try await store.transaction(.patient) { try await songs.save(Song(id: "s2", title: "")) } },
            ]
            try await until("both have lined up") { store.waitingForSlot == 2 }
            await expectError(.timeout) { try await store.close(timeout: .zero) }
            for task in waiting { await expectError(.closed) { try await task.value } }
            library.goOn.finish()
            try await first.value
            #expect(library.saved.withLock { $0 } == ["s0"])
        }
    }

    @Test("may go on with the next at once, where there is one slot and no time to wait for it")
    func sequence() async throws {
        var options = Holdfast.StoreOptions.relaxed
        options.maxInFlight = 1
        try await withSongs(.memory, options) { store, songs in
            var impatient = Holdfast.TransactionOptions()
            impatient.timeout = .zero
            for number in 0..<500 {
                try await songs.save(Song(id: "a\(number)", title: ""))
                let transaction = try store.begin(impatient)
                try await transaction.joined { _ = try await songs.save(Song(id: "b\(number)", title: "")) }
                try await transaction.commit()
            }
            try await #expect(songs.count() == 1000)
        }
    }
}

/// Tells when it is to save something, and waits until it may go on.
private final class GatedLibrary: StorageProvider {
    let saving = AsyncStream<Void>.makeStream()
    private let (going, continuation) = AsyncStream<Void>.makeStream()
    let saved = Mutex<[String]>([])

    var goOn: AsyncStream<Void>.Continuation { continuation }

    func save(_ song: Song) async {
        saving.continuation.yield()
        for await _ in going { break }
        saved.withLock { $0.append(song.id) }
    }
    func fetchAll() -> [Song] { [] }
    func fetch(id: String) -> Song? { nil }
    func delete(id: String) {}
}
