import Foundation
import HoldfastFamiliar
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

@Suite("A controller's middleware and reducer")
struct PersistenceMiddlewareTests {
    private let jukebox = Jukebox()
    private let store: ReduxStore<SongsAction, SongsState>
    private let gloria = Song(id: "s1", title: "Gloria")
    private let why = Song(id: "s2", title: "Why")

    init() {
        store = ReduxStore(
            initialState: .init(), reducer: Jukebox.makeReducer(), middleware: jukebox.makeMiddleware())
    }

    // MARK: Lanes

    @Test("lead a save from processing to succeeded, with the element as it was stored")
    func save() {
        let lane = Recording(store.statePublisher.map(\.persist.told))
        store.dispatch(.save(gloria))
        jukebox.saved(gloria, as: Song(id: "s7", title: "Gloria"))
        #expect(lane.values == ["initial", "processing", "succeeded s7"])
        #expect(jukebox.calls == ["save s1"])
    }

    @Test("lead a save from processing to failed, with the element, which dispatched again is tried again")
    func failingSave() throws {
        let lane = Recording(store.statePublisher.map(\.persist.told))
        store.dispatch(.save(gloria))
        jukebox.saveFails(gloria)
        guard case .failed(let error, let element) = store.state.persist else {
            Issue.record("it did not fail")
            return
        }
        #expect(error == Offline())
        #expect(jukebox.calls == ["save s1"], "nothing tries again by itself")
        store.dispatch(.save(element))
        jukebox.saved(gloria)
        #expect(lane.values == ["initial", "processing", "failed s1", "processing", "succeeded s1"])
    }

    @Test("leave to a controller what can be withdrawn: one that withdraws nothing tells how it ends")
    func withdrawal() {
        let lane = Recording(store.statePublisher.map(\.persist.told))
        store.dispatch(.save(gloria, token: "first"))
        store.dispatch(.cancelSave("first"))
        store.dispatch(.cancelDelete("first"))
        store.dispatch(.cancelSave("none"))
        jukebox.saved(gloria)
        store.dispatch(.cancelSave("first"))
        #expect(Array(lane.values.drop { $0 != "processing" }).last == "succeeded s1")
        #expect(jukebox.calls == ["save s1"])
    }

    @Test("lead a delete from processing to succeeded, or to failed with the element")
    func delete() {
        let lane = Recording(store.statePublisher.map(\.delete.told))
        store.dispatch(.delete(gloria))
        jukebox.deleteFails(gloria)
        store.dispatch(.delete(gloria))
        jukebox.deleted(gloria)
        #expect(lane.values == ["initial", "processing", "failed s1", "processing", "succeeded s1"])
    }

    @Test("lead a request from loading to received, again with each change, to canceled")
    func request() {
        let lane = Recording(store.statePublisher.map(\.request.told))
        store.dispatch(.request("all"))
        jukebox.answer("all", "s1")
        jukebox.answer("all", "s1", "s2")
        store.dispatch(.cancelRequest)
        #expect(lane.values == ["initial", "loading", "received s1", "received s1 s2", "canceled"])
        #expect(jukebox.calls == ["request all", "cancel all"])
    }

    @Test("lead a request to failed, with the request, which dispatched again is tried again")
    func failingRequest() {
        let lane = Recording(store.statePublisher.map(\.request.told))
        store.dispatch(.request("all"))
        jukebox.results("all").send(completion: .failure(Offline()))
        guard case .failed(_, let request) = store.state.request else {
            Issue.record("it did not fail")
            return
        }
        #expect(jukebox.calls == ["request all"], "nothing tries again by itself")
        store.dispatch(.request(request))
        jukebox.answer("all", "s1")
        #expect(lane.values == ["initial", "loading", "failed all", "loading", "received s1"])
    }

    // MARK: Several at once

    @Test("let saves run beside each other, each with its own outcome")
    func parallelSaves() {
        store.dispatch(.save(gloria, token: "a"))
        store.dispatch(.save(why, token: "b"))
        jukebox.saved(why)
        #expect(store.state.saves.mapValues(\.told) == ["a": "processing", "b": "succeeded s2"])
        jukebox.saveFails(gloria)
        #expect(store.state.saves.mapValues(\.told) == ["a": "failed s1", "b": "succeeded s2"])
        #expect(store.state.persist.told == "succeeded s2", "the lane follows the latest")
    }

    @Test("end the middle one of three requests alone")
    func threeRequests() {
        for request in ["rock", "soul", "jazz"] {
            store.dispatch(.request(request, token: PersistenceToken(request)))
            jukebox.answer(request, "s1")
        }
        store.dispatch(.cancelRequest("soul"))
        for request in ["rock", "soul", "jazz"] { jukebox.answer(request, "s1", "s2") }
        #expect(
            store.state.requests.mapValues(\.told)
                == ["rock": "received s1 s2", "soul": "canceled", "jazz": "received s1 s2"])
        #expect(store.state.request.told == "received s1 s2")
        #expect(jukebox.calls == ["request rock", "request soul", "request jazz", "cancel soul"])
    }

    @Test("end the request whose token another takes, before that one begins")
    func tokenInUse() {
        store.dispatch(.request("rock", token: "a"))
        jukebox.answer("rock", "s1")
        let lane = Recording(store.statePublisher.map { $0.requests["a"]?.told })
        store.dispatch(.request("soul", token: "a"))
        #expect(jukebox.calls == ["request rock", "cancel rock", "request soul"])
        jukebox.answer("rock", "s9")
        jukebox.answer("soul", "s2")
        #expect(lane.values == ["received s1", "loading", "received s2"])
        store.dispatch(.cancelRequest("a"))
        #expect(jukebox.calls.last == "cancel soul")
    }

    @Test("change nothing of a request that was cancelled, or has ended, however late a result comes")
    func late() {
        store.dispatch(.request("all", token: "a"))
        let cancelled = jukebox.results("all")
        store.dispatch(.cancelRequest("a"))
        cancelled.send(Jukebox.result(["s1"]))
        cancelled.send(completion: .failure(Offline()))
        #expect(store.state.requests["a"]?.told == "canceled")

        store.dispatch(.request("all", token: "a"))
        jukebox.answer("all", "s1")
        jukebox.results("all").send(completion: .finished)
        store.dispatch(.cancelRequest("a"))
        #expect(store.state.requests["a"]?.told == "received s1")
    }

    @Test("change nothing for a result that was on its way when the request was cancelled, or its token taken")
    func onItsWay() {
        let next = Held<[SongsAction]>([])
        store.dispatch(.request("rock", token: "a"))
        // A subscriber that is told of the first result dispatches while the second one waits behind it.
        let subscription = store.statePublisher.sink { [store, jukebox] state in
            guard state.requests["a"]?.told == "received s1" else { return }
            jukebox.answer("rock", "s1", "s2")
            for action in next.value { store.dispatch(action) }
        }
        next.value = [.cancelRequest("a")]
        jukebox.answer("rock", "s1")
        #expect(store.state.requests["a"]?.told == "canceled")

        store.dispatch(.request("rock", token: "a"))
        next.value = [.request("soul", token: "a")]
        jukebox.answer("rock", "s1")
        #expect(store.state.requests["a"]?.told == "loading")
        subscription.cancel()
    }

    // MARK: Order

    @Test("have the middleware see the action with the old state, then the state change, then the effects run")
    func order() {
        let order = Held<[String]>([])
        let watch = AnyMiddleware<SongsAction, SongsAction, SongsState> { _, _, state in
            order.value.append("middleware \(state().persist.told)")
            return IO { _ in order.value.append("effect \(state().persist.told)") }
        }
        let note = Reducer<SongsAction, SongsState>.reduce { _, state in
            order.value.append("reducer \(state.persist.told)")
        }
        let store = ReduxStore(
            initialState: SongsState(), reducer: .compose(note, Jukebox.makeReducer()),
            middleware: AnyMiddleware.compose(watch, jukebox.makeMiddleware()))
        store.dispatch(.save(gloria))
        #expect(order.value == ["middleware initial", "reducer initial", "effect processing"])
        #expect(jukebox.calls == ["save s1"])
    }

    @Test("serve two features over one controller, lifted and composed, each with its own state and tokens")
    func twoFeatures() {
        let store = ReduxStore<AppAction, AppState>(
            initialState: AppState(),
            reducer: .compose(
                Jukebox.makeReducer().lift(action: \.songs, state: \.songs),
                Jukebox.makeReducer().lift(action: \.favourites, state: \.favourites)),
            middleware: AnyMiddleware.compose(
                jukebox.makeMiddleware().lift(inputAction: \.songs, outputAction: AppAction.songs, state: \.songs),
                jukebox.makeMiddleware().lift(
                    inputAction: \.favourites, outputAction: AppAction.favourites, state: \.favourites)))
        store.dispatch(.songs(.request("all", token: "a")))
        store.dispatch(.favourites(.request("loved", token: "a")))
        jukebox.answer("all", "s1")
        jukebox.answer("loved", "s2")
        store.dispatch(.songs(.cancelRequest("a")))
        jukebox.answer("loved", "s2", "s3")
        #expect(store.state.songs.request.told == "canceled")
        #expect(store.state.favourites.request.told == "received s2 s3")
        #expect(jukebox.calls == ["request all", "request loved", "cancel all"])
    }

    // MARK: Limits

    @Test("keep the newest result alone for a reducer that takes its time")
    func slowReducer() async throws {
        let entered = DispatchSemaphore(value: 0)
        let leave = DispatchSemaphore(value: 0)
        let slow = Reducer<SongsAction, SongsState>.reduce { action, _ in
            guard case .delete = action.kind else { return }
            entered.signal()
            leave.wait()
        }
        let store = ReduxStore(
            initialState: SongsState(), reducer: .compose(slow, Jukebox.makeReducer()),
            middleware: jukebox.makeMiddleware())
        store.dispatch(.request("all"))
        let lane = Recording(store.statePublisher.map(\.request.told))
        Thread.detachNewThread { [gloria] in store.dispatch(.delete(gloria)) }
        try await onThread { entered.wait() }
        for count in 1...1000 { jukebox.answer("all", "\(count)") }
        leave.signal()
        try await until("the last result is there") { store.state.request.told == "received 1000" }
        #expect(lane.values == ["loading", "loading", "received 1", "received 1000"])
    }

    @Test("end the requests when the store is let go of")
    func letGo() {
        var store: ReduxStore? = ReduxStore(
            initialState: SongsState(), reducer: Jukebox.makeReducer(), middleware: jukebox.makeMiddleware())
        store?.dispatch(.request("all"))
        store = nil
        #expect(jukebox.calls == ["request all", "cancel all"])
    }

    @Test("tell of what a request found and could not read, beside what it could")
    func unreadable() {
        store.dispatch(.request("all", token: "a"))
        let broken = HoldfastError(.corrupt, "the entity \"s2\" is no Song")
        jukebox.results("all").send(PersistenceFetchResult(elements: [gloria], unreadable: [broken]))
        #expect(store.state.requests["a"]?.told == "received s1")
        #expect(store.state.unreadable == ["a": [broken]])
        jukebox.answer("all", "s1", "s2")
        #expect(store.state.unreadable.isEmpty)
    }
}

/// A value that several threads may change.
final class Held<Value>: @unchecked Sendable {
    // Sendable: what changes is behind the lock.
    private let lock = NSLock()
    private var held: Value

    init(_ value: Value) { held = value }

    var value: Value {
        get { lock.withLock { held } }
        set { lock.withLock { held = newValue } }
    }
}
