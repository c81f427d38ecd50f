import Foundation
import HoldfastFamiliar
import HoldfastTestSupport
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

/// A provider whose saves last until it is told to go on.
private final class SlowLibrary: StorageProvider {
    let saving = AsyncStream<Void>.makeStream()
    let goOn = AsyncStream<Void>.makeStream()
    let saved = Held<[String]>([])

    func save(_ song: Song) async {
        saving.continuation.yield()
        for await _ in goOn.stream { break }
        saved.value.append(song.id)
    }
    func fetchAll() -> [Song] { [] }
    func fetch(id: String) -> Song? { nil }
    func delete(id: String) {}
}

private typealias Drafts = StorePersistenceController<Draft>
private typealias Songs = StorePersistenceController<Song>

@Suite("The controller of a repository", .timeLimit(.minutes(20)))
struct StorePersistenceControllerTests {
    @Test("saves and answers the entity with the id that it was assigned, deletes, and says what is not there")
    func savesAndDeletes() async throws {
        try await withStore(.sqlite) { store in
            let drafts = store.repository(of: Draft.self)
            let redux = ReduxStore(
                initialState: .init(), reducer: Drafts.makeReducer(), middleware: Drafts(drafts).makeMiddleware())
            let lane = Recording(redux.statePublisher.map(\.persist))
            redux.dispatch(.save(Draft(text: "hello")))
            try await until("it is saved") { lane.values.count == 3 }
            guard case .succeeded(let stored) = redux.state.persist else {
                Issue.record("\(redux.state.persist)")
                return
            }
            #expect(stored.text == "hello")
            #expect(stored.id != nil)
            let found = try await drafts.fetch(id: stored.id)
            #expect(found == stored)

            let removal = Recording(redux.statePublisher.map(\.delete))
            redux.dispatch(.delete(stored))
            try await until("it is deleted") { removal.values.count == 3 }
            guard case .succeeded = redux.state.delete else {
                Issue.record("\(redux.state.delete)")
                return
            }
            redux.dispatch(.delete(stored))
            try await until("it is not there") { removal.values.count == 5 }
            guard case .failed(let error, let element) = redux.state.delete else {
                Issue.record("\(redux.state.delete)")
                return
            }
            #expect(error.status == .notFound)
            #expect(element == stored)
        }
    }

    @Test("answers requests with all that there is, then after each commit again, until they are cancelled")
    func requests() async throws {
        try await withStore(.sqlite) { store in
            let songs = store.repository(of: Song.self)
            try await songs.saveMany((1...6).map { Song(id: "s\($0)", title: "Title", plays: $0) })
            let redux = ReduxStore(
                initialState: Songs.State(), reducer: Songs.makeReducer(), middleware: Songs(songs).makeMiddleware())
            let queries: [(token: PersistenceToken, query: Query<Song>)] = [
                ("all", Query()), ("most", Query(sort: [.descending(\.plays)], limit: 2)), ("odd", Query(\.plays == 5)),
            ]
            for (token, query) in queries { redux.dispatch(.request(query, token: token)) }
            func told(_ token: PersistenceToken) -> [String]? {
                if case .received(let songs) = redux.state.requests[token] { songs.map(\.id) } else { nil }
            }
            try await until("all are received") { queries.allSatisfy { told($0.token) != nil } }
            #expect(told("all")?.count == 6)
            #expect(told("most") == ["s6", "s5"])
            #expect(told("odd") == ["s5"])

            redux.dispatch(.cancelRequest("most"))
            redux.dispatch(.save(Song(id: "s7", title: "Title", plays: 7)))
            try await songs.deleteMany(ids: ["s1", "s5"])
            try await until("the others are told") {
                told("all") == ["s2", "s3", "s4", "s6", "s7"] && told("odd") == []
            }
            guard case .canceled = redux.state.requests["most"] else {
                Issue.record("\(String(describing: redux.state.requests["most"]))")
                return
            }
        }
    }

    @Test("withdraws saves and deletes that still wait, and tells what came of them; what is being stored is stored")
    func withdrawals() async throws {
        let library = SlowLibrary()
        defer { library.goOn.continuation.finish() }
        let store = try await Store.open(provider: library, StoreOptions(maxInFlight: 1))
        let songs = store.repository(of: Song.self)
        let redux = ReduxStore(
            initialState: .init(), reducer: Songs.makeReducer(), middleware: Songs(songs).makeMiddleware())
        redux.dispatch(.save(Song(id: "s1", title: ""), token: "first"))
        for await _ in library.saving.stream { break }
        redux.dispatch(.save(Song(id: "s2", title: ""), token: "second"))
        redux.dispatch(.delete(Song(id: "s1", title: ""), token: "second"))
        redux.dispatch(.cancelSave("first"))
        redux.dispatch(.cancelSave("second"))
        redux.dispatch(.cancelDelete("second"))
        func failures() -> [HoldfastError] {
            [redux.state.saves["second"], redux.state.deletes["second"]].compactMap {
                if case .failed(let error, _) = $0 { error } else { nil }
            }
        }
        try await until("both are withdrawn") { failures().count == 2 }
        #expect(failures().map(\.status) == [.cancelled, .cancelled])
        library.goOn.continuation.finish()
        try await until("the first is stored") {
            if case .succeeded = redux.state.saves["first"] { true } else { false }
        }
        #expect(library.saved.value == ["s1"])
        try await store.close()
    }

    @Test("observes as it is told to")
    func observing() async throws {
        try await withStore(.memory) { store in
            let songs = store.repository(of: Song.self)
            let clock = MockClock()
            try store.setClock(clock)
            let controller = Songs(songs, observing: { $0.observe($1).debounce(for: .seconds(1)) })
            let redux = ReduxStore(
                initialState: .init(), reducer: Songs.makeReducer(), middleware: controller.makeMiddleware())
            redux.dispatch(.request(Query(), token: "all"))
            func count() -> Int? {
                if case .received(let songs) = redux.state.requests["all"] { songs.count } else { nil }
            }
            try await until("it is answered") { count() == 0 }
            try await songs.save(Song(id: "s1", title: ""))
            try await until("it is held back") { clock.nextWake != nil }
            #expect(count() == 0)
            clock.advance(by: .seconds(1))
            try await until("it is told") { count() == 1 }
        }
    }

    @Test("changes nothing of a request once its cancellation was dispatched, while others go on committing")
    func cancellingAmongCommits() async throws {
        try await withSongs(.memory) { _, songs in
            let redux = ReduxStore(
                initialState: .init(), reducer: Songs.makeReducer(), middleware: Songs(songs).makeMiddleware())
            let writer = Task {
                var number = 0
                while !Task.isCancelled {
                    try await songs.save(Song(id: "s\(number % 10)", title: "Title", plays: number))
                    number += 1
                }
            }
            for number in 0..<100 {
                let token = PersistenceToken("\(number)")
                redux.dispatch(.request(Query(), token: token))
                try await until("it is received") {
                    if case .received = redux.state.requests[token] { true } else { false }
                }
                redux.dispatch(.cancelRequest(token))
                guard case .canceled = redux.state.requests[token] else {
                    Issue.record("\(String(describing: redux.state.requests[token]))")
                    break
                }
            }
            writer.cancel()
            _ = await writer.result
            #expect(redux.state.requests.count == 100)
            for state in redux.state.requests.values {
                guard case .canceled = state else {
                    Issue.record("\(state)")
                    break
                }
            }
        }
    }

    @Test("fails what needs a store that cannot be opened, with the reason, and opens it when it is needed next")
    func failedOpen() async throws {
        try await withDirectory { directory in
            let later = "\(directory)/later"
            let controller = Songs(StoreContainer("\(later)/store.db"))
            let redux = ReduxStore(
                initialState: .init(), reducer: Songs.makeReducer(), middleware: controller.makeMiddleware())
            let gloria = Song(id: "s1", title: "Gloria")
            let lane = Recording(redux.statePublisher.map(\.persist))
            redux.dispatch(.save(gloria))
            try await until("it has failed") { lane.values.count == 3 }
            guard case .failed(let error, let element) = redux.state.persist else {
                Issue.record("\(redux.state.persist)")
                return
            }
            #expect(error.status == .cannotOpen)

            try FileManager.default.createDirectory(atPath: later, withIntermediateDirectories: true)
            redux.dispatch(.save(element))
            try await until("it is saved") { lane.values.count == 5 }
            guard case .succeeded(gloria) = redux.state.persist else {
                Issue.record("\(redux.state.persist)")
                return
            }
        }
    }

    @Test("opens its store once, however many need it at once, and shares it with other controllers")
    func opensOnce() async throws {
        let opened = Held(0)
        let container = StoreContainer {
            opened.value += 1
            return try await Store.open("memory:")
        }
        let songs = ReduxStore(
            initialState: .init(), reducer: Songs.makeReducer(), middleware: Songs(container).makeMiddleware())
        let drafts = ReduxStore(
            initialState: .init(), reducer: Drafts.makeReducer(), middleware: Drafts(container).makeMiddleware())
        for number in 0..<20 {
            songs.dispatch(.save(Song(id: "\(number)", title: "Title")))
            drafts.dispatch(.save(Draft(id: "\(number)", text: "text")))
        }
        try await until("all are saved") {
            songs.state.saves.values.allSatisfy { if case .succeeded = $0 { true } else { false } }
                && drafts.state.saves.values.allSatisfy { if case .succeeded = $0 { true } else { false } }
        }
        #expect(opened.value == 1)
        let store = try await container.store()
        let count = try await store.repository(of: Song.self).count()
        #expect(count == 20)
        try await store.close()
    }

    @Test("serves two features of an application over one store, each with its own part of the state")
    func twoFeatures() async throws {
        enum AppAction: Sendable {
            case songs(Songs.Action)
            case drafts(Drafts.Action)
            var songs: Songs.Action? { if case .songs(let action) = self { action } else { nil } }
            var drafts: Drafts.Action? { if case .drafts(let action) = self { action } else { nil } }
        }
        struct AppState: Sendable {
            var songs = Songs.State()
            var drafts = Drafts.State()
        }
        let container = StoreContainer("memory:")
        let redux = ReduxStore<AppAction, AppState>(
            initialState: AppState(),
            reducer: .compose(
                Songs.makeReducer().lift(action: \.songs, state: \.songs),
                Drafts.makeReducer().lift(action: \.drafts, state: \.drafts)),
            middleware: AnyMiddleware.compose(
                Songs(container).makeMiddleware().lift(
                    inputAction: \.songs, outputAction: AppAction.songs, state: \.songs),
                Drafts(container).makeMiddleware().lift(
                    inputAction: \.drafts, outputAction: AppAction.drafts, state: \.drafts)))
        redux.dispatch(.songs(.request(Query())))
        redux.dispatch(.drafts(.request(Query())))
        redux.dispatch(.songs(.save(Song(id: "s1", title: "Gloria"))))
        redux.dispatch(.drafts(.save(Draft(text: "hello"))))
        try await until("each is told of its own") {
            guard case .received(let songs) = redux.state.songs.request,
                case .received(let drafts) = redux.state.drafts.request
            else { return false }
            return songs.map(\.title) == ["Gloria"] && drafts.map(\.text) == ["hello"]
        }
        redux.dispatch(.songs(.cancelRequest))
        guard case .canceled = redux.state.songs.request, case .received = redux.state.drafts.request else {
            Issue.record("the other feature's request was cancelled")
            return
        }
        try await container.store().close()
    }

    @Test("commits by itself what is asked for inside a transaction, which is rolled back")
    func outsideTransactions() async throws {
        try await withSongs(.memory) { store, songs in
            let redux = ReduxStore(
                initialState: .init(), reducer: Songs.makeReducer(), middleware: Songs(songs).makeMiddleware())
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    redux.dispatch(.save(Song(id: "s1", title: "Gloria")))
                    throw Refusal()
                }
            }
            try await until("it is saved") { if case .succeeded = redux.state.persist { true } else { false } }
            let song = try await songs.fetch(id: "s1")
            #expect(song?.title == "Gloria")
        }
    }

    @Test("fails its requests when the store closes")
    func closing() async throws {
        let store = try await Store.open("memory:")
        let redux = ReduxStore(
            initialState: .init(), reducer: Songs.makeReducer(),
            middleware: Songs(store.repository(of: Song.self)).makeMiddleware())
        redux.dispatch(.request(Query(\.plays > 9)))
        try await until("it is received") { if case .received = redux.state.request { true } else { false } }
        try await store.close()
        try await until("it has failed") { if case .failed = redux.state.request { true } else { false } }
        guard case .failed(let error, _) = redux.state.request else { return }
        #expect(error.status == .closed)
    }
}
