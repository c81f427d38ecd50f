import Foundation
import HoldfastFamiliar
import Synchronization
import Testing

@Suite("A synchronous repository")
struct SyncRepositoryTests {
    @Test("adds, updates by identity, deletes, and reads", arguments: Engine.allCases)
    func calls(_ engine: Engine) async throws {
        try await withBlockingSongs(engine) { _, songs in
            func work() throws {
                #expect(try songs.isEmpty)
                #expect(try songs.add(element: Song(id: "s2", title: "Why")) == Song(id: "s2", title: "Why"))
                try songs.add(element: Song(id: "s1", title: "Gloria"))
                #expect(try songs.update(element: Song(id: "s1", title: "Gloria", plays: 3)).plays == 3)
                #expect(try songs.getAll.map(\.id) == ["s1", "s2"])
                #expect(try songs.filter { $0.plays > 0 }.map(\.id) == ["s1"])
                #expect(try songs.filter { $0.plays > 9 }.isEmpty)
                #expect(try songs.first { $0.plays > 0 }?.id == "s1")
                #expect(try songs.first { $0.plays > 9 } == nil)
                #expect(try songs.contains { $0.title == "Why" })
                #expect(try songs.contains(element: Song(id: "s2", title: "another title")))
                #expect(try !songs.isEmpty)
                try songs.delete(element: Song(id: "s2", title: "Why"))
                try songs.deleteAll()
                try songs.deleteAll()
                #expect(try songs.isEmpty)
            }
            try work()
        }
    }

    @Test("answers the entity with the id that it was assigned")
    func assignedID() async throws {
        try await withStore(.memory) { store in
            let drafts = StoreRepository<Draft>(store)
            let transaction: AnyTransaction<Draft> = drafts.add(Draft(text: "hello"))
            let first = try transaction.perform()
            let second = try await transaction.performAsync()
            #expect(first.id != nil && first.id != second.id)
            #expect(try drafts.getAll.count == 2)
        }
    }

    @Test("refuses in the words of RepositoryError, and passes on what a caller's function throws")
    func errors() async throws {
        try await withBlockingSongs(.memory) { _, songs in
            func work() throws {
                let song = Song(id: "s1", title: "Gloria")
                try expect("nonExistingData") { try songs.update(element: song) }
                try expect("nonExistingData") { try songs.delete(element: song) }
                try songs.add(element: song)
                try expect("duplicatedData") { try songs.add(element: song) }
                try expect("serializationError") { try songs.add(element: Song(id: "", title: "Gloria")) }
                #expect(throws: Refusal()) { try songs.filter { _ in throw Refusal() } }
                #expect(throws: Refusal()) { try songs.fetch { _ in throw Refusal() }.perform() }
            }
            try work()
        }
    }

    @Test("joins the transaction that the task is in")
    func joining() async throws {
        try await withBlockingSongs(.memory) { store, songs in
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    try addNow(Song(id: "s1", title: "Gloria"), to: songs)
                    let add: AnyTransaction<Song> = songs.add(Song(id: "s2", title: "Why"))
                    try await add.performAsync()
                    let count = try await songs.repository.count()
                    #expect(count == 2)
                    throw Refusal()
                }
            }
            let count = try await songs.repository.count()
            #expect(count == 0)
        }
    }

    @Test("runs the transaction around it again when a call meets a conflict there", arguments: [false, true])
    func conflict(wrapped: Bool) async throws {
        try await withStore(.memory) { store in
            let accounts = StoreRepository<Account>(store)
            try accounts.add(element: Account(id: 1, balance: 0))
            let attempts = Mutex(0)
            try await store.transaction {
                var account = try accounts.getAll[0]
                let isFirst = attempts.withLock {
                    $0 += 1
                    return $0 == 1
                }
                if isFirst {
                    try await inAnotherTask { try await accounts.repository.save(Account(id: 1, balance: 100)) }
                    if wrapped {
                        throw RepositoryError(HoldfastError(.conflict, "as a call in the body would throw it"))
                    }
                }
                account.balance += 1
                try accounts.update(element: account)
            }
            #expect(try accounts.getAll == [Account(id: 1, balance: 101)])
            #expect(attempts.withLock { $0 } == 2)
        }
    }

    @Test("tells of a record that is no entity, and hides no other")
    func corruptRecord() async throws {
        try await withBlockingSongs(.memory) { store, songs in
            try songs.add(element: Song(id: "s1", title: "Gloria"))
            try await store.repository(of: Draft.self, named: "song").save(Draft(id: "s2", text: "no title"))
            func work() throws {
                try expect("entityInitializationError") { try songs.getAll }
                try expect("entityInitializationError") { try songs.filter { _ in true } }
                try expect("entityInitializationError") { try songs.first { _ in false } }
                try expect("entityInitializationError") { try songs.contains { _ in false } }
                #expect(try !songs.isEmpty)
                #expect(try songs.contains(element: Song(id: "s1", title: "")))
            }
            try work()
            let song = try await songs.repository.fetch(id: "s1")
            #expect(song?.title == "Gloria")
            let count = try await songs.repository.count()
            #expect(count == 2)
        }
    }

    @Test("can be one of the host's own, which gets the transactions with it, and can lose its type")
    func hostsOwn() async throws {
        let shelf = Shelf()
        let books: AnyRepository<Book> = shelf.eraseToAnyRepository()
        let add: AnyTransaction<Book> = books.add(Book(id: 1, title: "Emma"))
        #expect(try books.isEmpty)
        try await add.performAsync()
        await #expect(throws: RepositoryError.self) { try await add.performAsync() }
        let all = try await books.fetch(where: nil).performAsync()
        #expect(all == [Book(id: 1, title: "Emma")])
        #expect(try books.contains(element: Book(id: 1, title: "")))
        _ = try await books.update(Book(id: 1, title: "Persuasion")).performAsync()
        let first: AnyTransaction<Book?> = books.first { $0.title == "Persuasion" }
        #expect(try first.perform()?.id == 1)
        try books.delete(Book(id: 1, title: "")).perform()
        #expect(try books.isEmpty)
        #expect(shelf.calls.withLock { $0 } == ["add", "add", "update", "delete"])
    }
}

@Suite("A repository's transaction")
struct RepositoryTransactionTests {
    @Test("is made without any error, and fails when it is performed, in both ways", arguments: Engine.allCases)
    func lateErrors(_ engine: Engine) async throws {
        try await withBlockingSongs(engine) { _, songs in
            let song = Song(id: "s1", title: "Gloria")
            let update: AnyTransaction<Song> = songs.update(song)
            let delete: AnyTransaction<Void> = songs.delete(song)
            try expect("nonExistingData") { try update.perform() }
            try expect("nonExistingData") { try delete.perform() }
            await expect("nonExistingData") { try await update.performAsync() }
            await expect("nonExistingData") { try await delete.performAsync() }
            let add: AnyTransaction<Song> = songs.add(song)
            #expect(try songs.isEmpty)
            #expect(try add.perform() == song)
            try expect("duplicatedData") { try add.perform() }
            await expect("duplicatedData") { try await add.performAsync() }
            _ = try update.perform()
            try await delete.performAsync()
        }
    }

    @Test("reads what is there when it runs, not when it was made")
    func readsAnew() async throws {
        try await withBlockingSongs(.memory) { _, songs in
            let all = songs.fetch(where: nil)
            let first: AnyTransaction<Song?> = songs.first { $0.plays == 1 }
            #expect(try all.perform().isEmpty)
            #expect(try first.perform() == nil)
            try songs.add(element: Song(id: "s1", title: "Gloria", plays: 1))
            let found = try await all.performAsync()
            #expect(found.map(\.id) == ["s1"])
            let one = try await first.performAsync()
            #expect(one?.id == "s1")
            let none = try await songs.fetch { $0.plays > 9 }.performAsync()
            #expect(none.isEmpty)
        }
    }

    @Test("runs twice when two perform it at once")
    func twice() async throws {
        try await withStore(.memory) { store in
            let drafts = StoreRepository<Draft>(store)
            let add: AnyTransaction<Draft> = drafts.add(Draft(text: "hello"))
            async let first = add.performAsync()
            async let second = add.performAsync()
            let ids = try await [first.id, second.id]
            #expect(ids[0] != ids[1])
            #expect(try drafts.getAll.count == 2)
        }
    }

    @Test("fails cleanly when its store is closed")
    func closedStore() async throws {
        let store = try await Store.open("memory:")
        let songs = StoreRepository<Song>(store)
        let add: AnyTransaction<Song> = songs.add(Song(id: "s1", title: "Gloria"))
        _ = try add.perform()
        try await store.close()
        for run in [{ _ = try add.perform() }, { _ = try songs.fetch(where: nil).perform() }] {
            #expect(throws: RepositoryError.self) { try run() }
        }
        await expect("transactionError") { try await add.performAsync() }
    }

    @Test("can be any asynchronous function, such as several calls in one transaction")
    func asynchronousFunction() async throws {
        try await withBlockingSongs(.memory) { store, songs in
            let both = AnyTransaction {
                try await store.transaction {
                    try await songs.repository.save(Song(id: "s1", title: "Gloria"))
                    try await songs.repository.save(Song(id: "s2", title: "Why"))
                }
            }
            try await both.performAsync()
            #expect(try songs.getAll.count == 2)
            try songs.deleteAll()
            expectRefusal(.wouldDeadlock) { try both.perform() }
            try await onThread { try both.perform() }
            #expect(try songs.getAll.count == 2)
        }
    }
}

private struct Book: Identifiable, Sendable, Equatable {
    var id: Int
    var title: String
}

/// A repository of the host's own, in memory.
private final class Shelf: SyncRepository {
    private let books = Mutex<[Int: Book]>([:])
    let calls = Mutex<[String]>([])

    var getAll: [Book] { books.withLock { $0.values.sorted { $0.id < $1.id } } }

    func add(element: Book) throws -> Book {
        calls.withLock { $0.append("add") }
        return try books.withLock { books in
            if books[element.id] != nil { throw RepositoryError(HoldfastError(.exists, "it is there already")) }
            books[element.id] = element
            return element
        }
    }

    func update(element: Book) throws -> Book {
        calls.withLock { $0.append("update") }
        return books.withLock {
            $0[element.id] = element
            return element
        }
    }

    func delete(element: Book) throws {
        calls.withLock { $0.append("delete") }
        _ = books.withLock { $0.removeValue(forKey: element.id) }
    }

    func deleteAll() { books.withLock { $0 = [:] } }
}

/// Runs `body` with a fresh store, and its repository of songs, whose calls block.
private nonisolated(nonsending) func withBlockingSongs(
    _ engine: Engine, _ body: nonisolated(nonsending) (Store, StoreRepository<Song>) async throws -> Void
) async throws {
    try await withSongs(engine) { store, songs in try await body(store, StoreRepository(songs)) }
}

private func addNow(_ song: Song, to songs: some SyncRepository<Song>) throws { try songs.add(element: song) }

/// Expects a `RepositoryError` of this kind.
private func expect<Value>(
    _ kind: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Value
) throws {
    let error = #expect(throws: RepositoryError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(
        error?.description.hasPrefix("\(kind): ") == true, "\(String(describing: error))",
        sourceLocation: sourceLocation)
}

private nonisolated(nonsending) func expect<Value>(
    _ kind: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: nonisolated(nonsending) () async throws -> Value
) async {
    let error = await #expect(throws: RepositoryError.self, sourceLocation: sourceLocation) { _ = try await body() }
    #expect(
        error?.description.hasPrefix("\(kind): ") == true, "\(String(describing: error))",
        sourceLocation: sourceLocation)
}
