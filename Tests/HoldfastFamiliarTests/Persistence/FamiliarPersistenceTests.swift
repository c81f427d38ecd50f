import Foundation
import HoldfastFamiliar
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

/// The usage that people know from persistence as a middleware of a Redux store. What differs: docs/other-swift-libraries.md.
@Suite("As known from persistence middlewares", .timeLimit(.minutes(20)))
struct FamiliarPersistenceTests {
    struct Song: Codable, Identifiable, Sendable, Equatable {
        var id: String?
        var title: String
    }

    struct SongError: Error, Equatable {}
    struct SongRequest: Sendable, Equatable { var title: String }

    /// A controller of one's own, whose publishers answer nothing but success.
    struct SongController: PersistenceController {
        func savePublisher(for element: Song) -> AnyPublisher<Void, SongError> {
            Just(()).setFailureType(to: SongError.self).eraseToAnyPublisher()
        }

        func deletePublisher(for element: Song) -> AnyPublisher<Void, SongError> {
            Fail(error: SongError()).eraseToAnyPublisher()
        }

        func requestPublisher(for request: SongRequest) -> AnyPublisher<PersistenceFetchResult<Song>, SongError> {
            Just(PersistenceFetchResult(elements: [Song(id: "s1", title: request.title)]))
                .setFailureType(to: SongError.self).eraseToAnyPublisher()
        }
    }

    @Test("actions and states of three types, a middleware and a reducer of a controller")
    func types() throws {
        typealias Action = PersistenceAction<Song, SongError, SongRequest>
        typealias State = PersistenceState<Song, SongError, SongRequest>
        let save: Action = .save(Song(id: "s1", title: "Gloria"))
        let delete: Action = .delete(Song(id: "s1", title: "Gloria"))
        let request: Action = .request(SongRequest(title: "Gloria"))
        let cancel: Action = .cancelRequest

        let controller = SongController()
        let middleware:
            AnyMiddleware<
                PersistenceAction<Song, SongError, SongRequest>,
                PersistenceAction<Song, SongError, SongRequest>,
                PersistenceState<Song, SongError, SongRequest>
            > = controller.makeMiddleware()
        let reducer: Reducer<Action, State> = SongController.makeReducer()
        let store = ReduxStore(initialState: State(), reducer: reducer, middleware: middleware)

        func describe(_ state: State) -> String {
            switch state.request {
            case .initial: "nothing was asked for"
            case .loading: "loading"
            case .failed(let error, let request): "\(error) for \(request)"
            case .received(let songs): songs.map(\.title).joined(separator: ", ")
            case .canceled: "canceled"
            }
        }
        func describe(_ state: State.ProcessState) -> String {
            switch state {
            case .initial: "nothing was done"
            case .processing: "in progress"
            case .failed(error: _, element: let song): "not \(song.title)"
            case .succeeded: "done"
            }
        }
        #expect(describe(store.state) == "nothing was asked for")
        store.dispatch(save)
        store.dispatch(delete)
        store.dispatch(request)
        #expect(describe(store.state) == "Gloria")
        #expect(describe(store.state.persist) == "done")
        #expect(describe(store.state.delete) == "not Gloria")
        store.dispatch(cancel)
        #expect(describe(store.state) == "Gloria", "what has ended is not cancelled")
    }

    @Test("a controller with one generic type to specify, for a database that is opened by name")
    func database() async throws {
        try await withDirectory { directory in
            let controller = StorePersistenceController<Song>(StoreContainer("\(directory)/MusicDB"))
            let middleware = controller.makeMiddleware()
            let store = ReduxStore(
                initialState: .init(), reducer: StorePersistenceController<Song>.makeReducer(), middleware: middleware)
            store.dispatch(.request(Query(\.title == "Gloria")))
            store.dispatch(.save(Song(title: "Gloria")))
            try await until("the request is told of the song") {
                if case .received(let songs) = store.state.request { songs.map(\.title) == ["Gloria"] } else { false }
            }
            guard case .received(let songs) = store.state.request, case .succeeded(let song) = store.state.persist
            else {
                return
            }
            #expect(songs == [song])
            #expect(song.id != nil)
        }
    }
}
