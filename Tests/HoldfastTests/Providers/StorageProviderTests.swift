import Foundation
import Holdfast
import HoldfastTestSupport
import Testing

/// The five lines of the documentation.
private actor Shelf: StorageProvider {
    private var songs: [String: Song] = [:]
    func save(_ song: Song) { songs[song.id] = song }
    func fetchAll() -> [Song] { Array(songs.values) }
    func fetch(id: String) -> Song? { songs[id] }
    func delete(id: String) { songs[id] = nil }
}

@Suite("A store over a provider")
struct StorageProviderTests {
    private func withStore<Provider: StorageProvider>(
        _ provider: Provider, _ body: (Store) async throws -> Void
    ) async throws where Provider.Entity.ID: EntityIdentifier {
        let store = try await Store.open(provider: provider)
        try await body(store)
        try await store.close()
    }

    @Test("does all that a store does with entities, and the provider has them")
    func repositories() async throws {
        let shelf = Shelf()
        try await withStore(shelf) { store in
            #expect(try store.describe().engine == "provider")
            let songs = store.repository(of: Song.self)
            try await songs.add(Song(id: "s1", title: "Sinnerman"))
            await expectError(.exists) { try await songs.add(Song(id: "s1", title: "Sinnerman")) }
            await expectError(.notFound) { try await songs.update(Song(id: "s2", title: "x")) }
            try await songs.saveMany((2...9).map { Song(id: "s\($0)", title: "t", plays: $0) })
            try await #expect(songs.find(\.plays > 6, sort: [.descending(\.plays)]).map(\.plays) == [9, 8, 7])
            try await #expect(songs.count() == 9)
            try await songs.modify(id: "s1", ["$inc": ["plays": 5]])
            try await #expect(songs.fetch(id: "s1")?.plays == 5)
            await #expect(shelf.fetch(id: "s1")?.plays == 5)
            try await songs.createIndex(.ascending(\.plays))
            try await #expect(songs.explain(\.plays == 5).index != nil)
            try await #expect(songs.find(\.plays == 5).map(\.id) == ["s1", "s5"])
            try await #expect(songs.deleteAll(\.plays > 5) == 4)
            await #expect(shelf.fetchAll().count == 5)
            let old = try await #require(songs.fetchVersioned(id: "s1"))
            try await songs.update(old.entity, expectedVersion: old.version)
            await expectError(.versionMismatch) { try await songs.update(old.entity, expectedVersion: old.version) }
        }
        // What it keeps, another store finds.
        try await withStore(shelf) { store in
            try await #expect(store.repository(of: Song.self).fetchAll().map(\.id) == ["s1", "s2", "s3", "s4", "s5"])
        }
    }

    @Test("stores a transaction of several entities, or nothing of it", arguments: [true, false])
    func transactions(isAtomic: Bool) async throws {
        func check(_ provider: some StorageProvider<Song>, _ kept: () -> [Song]) async throws {
            try await withStore(provider) { store in
                let songs = store.repository(of: Song.self)
                let (_, receipt) = try await store.transactionWithReceipt {
                    try await songs.save(Song(id: "a", title: "a"))
                    try await songs.save(Song(id: "b", title: "b"))
                }
                #expect(receipt.isAtomic == isAtomic)
                #expect(kept().count == 2)
                await #expect(throws: Refusal.self) {
                    try await store.transaction {
                        try await songs.delete(id: "a")
                        try await songs.save(Song(id: "b", title: "changed"))
                        try await #expect(songs.fetchAll().map(\.title) == ["changed"])
                        throw Refusal()
                    }
                }
                try await #expect(songs.fetchAll().map(\.title) == ["a", "b"])
                #expect(kept().map(\.title) == ["a", "b"])
            }
        }
        let storage = InMemoryStorage<Song>()
        if isAtomic { return try await check(storage, storage.fetchAll) }
        let mock = MockStorageProvider<Song>()
        try await check(mock, mock.storage.fetchAll)
    }

    @Test("takes back what a provider of four functions had stored of a transaction when it fails", arguments: 1...3)
    func compensation(call: Int) async throws {
        let before = ["a", "b"].map { Song(id: $0, title: "before") }
        let storage = MockStorageProvider(before)
        try await withStore(storage) { store in
            let songs = store.repository(of: Song.self)
            storage.calls.fail(.save, at: call, with: Refusal())
            let error = await expectError(.hostError) {
                try await store.transaction {
                    for id in ["a", "b", "c"] { try await songs.save(Song(id: id, title: "after")) }
                }
            }
            #expect(error?.commitState == HoldfastError.CommitState.none)
            #expect(storage.storage.fetchAll() == before)
            try await #expect(songs.fetchAll() == before)
            // The next one is stored.
            try await songs.save(Song(id: "c", title: "after"))
            try await #expect(songs.fetch(id: "c")?.title == "after")
        }
    }

    @Test("says that it does not know when what was stored cannot be taken back either")
    func unknownOutcome() async throws {
        let storage = MockStorageProvider<Song>()
        try await withStore(storage) { store in
            let songs = store.repository(of: Song.self)
            try await songs.open()
            storage.calls.fail(.save, at: 2, with: Refusal())
            storage.calls.fail(.delete, with: Refusal())
            let error = await expectError(.hostError) {
                try await songs.saveMany(["a", "b"].map { Song(id: $0, title: "") })
            }
            #expect(error?.commitState == .unknown)
            storage.calls.reset()
            // What the provider has is what is read.
            try await #expect(songs.fetchAll() == storage.storage.fetchAll())
        }
    }

    @Test("runs a transaction again whose reading another has changed meanwhile")
    func conflicts() async throws {
        try await withStore(InMemoryStorage([Song(id: "s1", title: "")])) { store in
            let songs = store.repository(of: Song.self)
            try await withThrowingTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await store.transaction {
                            var song = try await #require(songs.fetch(id: "s1"))
                            song.plays += 1
                            try await songs.save(song)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await #expect(songs.fetch(id: "s1")?.plays == 50)
        }
    }

    @Test("changes object trees together with what the provider keeps, or neither")
    @MainActor
    func trees() async throws {
        let storage = MockStorageProvider<Song>()
        let store = try await Store.open(provider: storage)
        let songs = store.repository(of: Song.self)
        let log = CallLog()
        let member = Member("chart", log: log)
        // Its validation writes by the blocking calls, which join.
        member.atValidation = { try songs.blocking.add(Song(id: "by validation", title: "")) }
        try await store.transaction(member) {
            member.value = 1
            try await songs.save(Song(id: "s1", title: ""))
        }
        #expect(storage.storage.fetchAll().count == 2)
        #expect(log.take() == ["begin chart", "validate chart", "commit chart"])
        storage.calls.fail(.save, with: Refusal())
        member.atValidation = {}
        await expectError(.hostError) {
            try await store.transaction(member) {
                member.value = 2
                try await songs.save(Song(id: "s2", title: ""))
            }
        }
        #expect(log.take() == ["begin chart", "validate chart", "rollback chart"])
        #expect(member.value == 1)
        storage.calls.reset()
        try await #expect(songs.count() == 2)
        try await store.close()
    }

    @Test("refuses another repository than the provider's, by name")
    func otherRepositories() async throws {
        try await withStore(InMemoryStorage<Song>()) { store in
            let error = await expectError(.unsupported) { _ = try await store.repository(of: Account.self).fetchAll() }
            #expect(error?.message.contains("Song in the repository \"song\" alone, and no \"account\"") == true)
            try await store.repository(of: Song.self).open()
        }
        let named = try await Store.open(provider: InMemoryStorage<Song>(), named: "tracks")
        try await named.repository(of: Song.self, named: "tracks").save(Song(id: "s1", title: ""))
        await expectError(.unsupported) { try await named.repository(of: Song.self).open() }
        try await named.close()
    }

    @Test("keeps what the library itself stores out of a provider of one type")
    func librarysOwn() async throws {
        struct Anything: Codable, Identifiable, Sendable { var id: String }
        let storage = InMemoryStorage<Anything>()
        let store = try await Store.open(provider: storage)
        try await store.repository(of: Anything.self).open()
        let plan = UpgradePlan(Upgrade(from: 0) { _ in })
        let error = await expectError(.hostError) { try await store.upgrade(plan) }
        #expect(error?.message.contains("alone, and no \"holdfast_system\"") == true)
        #expect(storage.fetchAll().isEmpty)
        try await #expect(store.schemaVersion() == nil)
        #expect(try store.describe().schemaVersion == nil)
        try await store.close()

        let documents = InMemoryStorage<StoredDocument>()
        let whole = try await Store.open(provider: documents)
        try await whole.repository(of: Anything.self).open()
        try await whole.upgrade(plan)
        try await whole.close()
        let again = try await Store.open(provider: documents)
        try await #expect(again.schemaVersion() == 1)
        try await again.close()
    }

    @Test("keeps every repository in a provider of documents, names where one begins with the other apart")
    func documents() async throws {
        let storage = InMemoryStorage<StoredDocument>()
        let store = try await Store.open(provider: storage)
        let short = store.repository(of: Song.self, named: "App")
        let long = store.repository(of: Account.self, named: "App2")
        try await store.transaction {
            try await short.save(Song(id: "1", title: "x"))
            try await long.save(Account(id: 1, balance: 5))
        }
        try await #expect(long.fetchAll() == [Account(id: 1, balance: 5)])
        try await short.deleteAll()
        try await #expect(long.fetchAll() == [Account(id: 1, balance: 5)])
        #expect(
            storage.fetchAll() == [
                StoredDocument(
                    id: StoredDocument.ID(repository: "App2", entity: "1"), json: Data(#"{"balance":5,"id":1}"#.utf8))
            ])
        try await store.close()
    }

    @Test("keeps documents apart whose ids Swift takes for the same text")
    func idsOfOtherBytes() async throws {
        let store = try await Store.open(provider: InMemoryStorage<StoredDocument>())
        let songs = store.repository(of: Song.self)
        for id in ["\u{E9}", "e\u{301}"] { try await songs.save(Song(id: id, title: "\(id.utf8.count)")) }
        try await #expect(songs.fetchAll().map(\.title) == ["3", "2"])
        try await #expect(songs.fetch(id: "\u{E9}")?.title == "2")
        try await store.close()
    }

    @Test("tells of an entity that cannot be read, by its id, and of nothing else")
    func corruptDocument() async throws {
        let storage = InMemoryStorage<StoredDocument>()
        let store = try await Store.open(provider: storage)
        let songs = store.repository(of: Song.self)
        try await songs.save(Song(id: "s1", title: "Sinnerman"))
        for bad in ["{", "[]", #"{"id":"s9"}"#] {
            storage.save(
                StoredDocument(id: StoredDocument.ID(repository: "song", entity: "s2"), json: Data(bad.utf8)))
            let error = await expectError(.corrupt) { _ = try await songs.fetch(id: "s2") }
            #expect(error?.detail.id == "s2")
            await expectError(.corrupt) { _ = try await songs.fetchAll() }
            try await #expect(songs.fetch(id: "s1")?.title == "Sinnerman")
        }
        try await songs.save(Song(id: "s2", title: "mended"))
        try await #expect(songs.fetchAll().count == 2)
        try await store.close()
    }

    @Test("passes on as corrupt what a provider could not decode")
    func undecodable() async throws {
        let storage = MockStorageProvider<Song>()
        try await withStore(storage) { store in
            let songs = store.repository(of: Song.self)
            try await songs.open()
            storage.calls.fail(
                .fetch, with: DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "half a file")))
            let error = await expectError(.corrupt) { _ = try await songs.fetch(id: "s1") }
            #expect(error?.message.contains("half a file") == true)
            #expect(error?.cause is DecodingError)
        }
    }

    @Test("refuses blocking calls in tasks, and takes them on threads")
    func blockingCalls() async throws {
        try await withStore(Shelf()) { store in
            let songs = store.repository(of: Song.self)
            do {
                _ = try songs.blocking.fetchAll()
                Issue.record("nothing was thrown")
            } catch let error as HoldfastError {
                #expect(error.status == .wouldDeadlock)
            }
            let count = try await onThread {
                try songs.blocking.add(Song(id: "s1", title: ""))
                return try songs.blocking.count()
            }
            #expect(count == 1)
        }
    }

    @Test("opens read-only when asked to, and is closed like any other")
    func readOnly() async throws {
        let options = StoreOptions(readOnly: true)
        let store = try await Store.open(provider: InMemoryStorage([Song(id: "s1", title: "")]), options)
        let songs = store.repository(of: Song.self)
        await expectError(.readOnly) { try await songs.save(Song(id: "s2", title: "")) }
        try await store.close()
        await expectError(.closed) { _ = try await songs.fetch(id: "s1") }
    }
}

/// A provider that uses the store it serves.
private final class Selfish: StorageProvider {
    enum Kind: CaseIterable { case fetch, save, transaction, close, sync, blocking, child }
    private let storage = InMemoryStorage<Song>()
    private let kind: Kind
    nonisolated(unsafe) var store: Store?  // set once, before the first call
    nonisolated(unsafe) var refusals: [Status] = []  // written in the provider's calls, one after the other

    init(_ kind: Kind) { self.kind = kind }

    func save(_ song: Song) async throws {
        if let store {
            let songs = store.repository(of: Song.self)
            do {
                switch kind {
                case .fetch: _ = try await songs.fetch(id: "other")
                case .save: try await songs.save(Song(id: "other", title: ""))
                case .transaction: try await store.transaction { _ = try await songs.fetchAll() }
                case .close: try await store.close()
                case .sync: try await store.sync()
                case .blocking: try songs.blocking.add(Song(id: "other", title: ""))
                case .child:
                    async let found = songs.fetchAll()
                    _ = try await found
                }
            } catch {
                refusals.append((error as? HoldfastError)?.status ?? .internal)
            }
        }
        storage.save(song)
    }
    func fetchAll() async throws -> [Song] { storage.fetchAll() }
    func fetch(id: String) async throws -> Song? { storage.fetch(id: id) }
    func delete(id: String) async throws { storage.delete(id: id) }
}

@Suite("A provider that uses the store it serves")
struct ReentrantProviderTests {
    @Test("is refused at once, whatever it calls, and the commit goes on", arguments: Selfish.Kind.allCases)
    fileprivate func refused(kind: Selfish.Kind) async throws {
        let provider = Selfish(kind)
        let store = try await Store.open(provider: provider)
        provider.store = store
        let songs = store.repository(of: Song.self)
        try await songs.save(Song(id: "s1", title: ""))
        #expect(provider.refusals == [.reentrant])
        try await #expect(songs.fetchAll().map(\.id) == ["s1"])
        try await store.close()
        provider.store = nil
    }

    @Test("may use another store, also one over another provider")
    func others() async throws {
        struct Copying: StorageProvider {
            let inner: Repository<Song>
            func save(_ song: Song) async throws { _ = try await inner.save(song) as Song }
            func fetchAll() async throws -> [Song] { try await inner.fetchAll() }
            func fetch(id: String) async throws -> Song? { try await inner.fetch(id: id) }
            func delete(id: String) async throws { try await inner.delete(id: id, missingOK: true) }
        }
        try await withStore(.sqlite) { file in
            let middle = try await Store.open(provider: Copying(inner: file.repository(of: Song.self)))
            let outer = try await Store.open(provider: Copying(inner: middle.repository(of: Song.self)))
            let songs = outer.repository(of: Song.self)
            try await withThrowingTaskGroup { group in
                for number in 0..<100 {
                    group.addTask { try await songs.save(Song(id: "s\(number)", title: "")) }
                }
                try await group.waitForAll()
            }
            try await #expect(songs.count() == 100)
            try await #expect(file.repository(of: Song.self).count() == 100)
            try await outer.close()
            try await middle.close()
        }
    }
}
