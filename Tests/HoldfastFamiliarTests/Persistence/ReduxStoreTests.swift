import Foundation
import HoldfastFamiliar
import Synchronization
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

@Suite("A store of actions and state")
struct ReduxStoreTests {
    private static let append = Reducer<String, [String]>.reduce { action, state in state.append(action) }

    @Test("handles what is dispatched from inside after the action that is being handled, and returns at once")
    func fromInside() {
        let store = ReduxStore(
            initialState: [String](), reducer: Self.append, middleware: AnyMiddleware<String, String, [String]>.identity
        )
        let returned = Mutex(false)
        let subscription = store.statePublisher.sink { [unowned store] state in
            guard state == ["a"] else { return }
            store.dispatch("b")
            store.dispatch("c")
            returned.withLock { $0 = store.state == ["a"] }
        }
        store.dispatch("a")
        #expect(store.state == ["a", "b", "c"])
        #expect(returned.withLock { $0 })
        subscription.cancel()
    }

    @Test("handles one action at a time, whoever dispatches, and each before its dispatch returns")
    func oneAtATime() async throws {
        let inside = Atomic(0)
        let reducer = Reducer<Int, [Int: Int]>.reduce { action, state in
            #expect(inside.add(1, ordering: .sequentiallyConsistent).newValue == 1)
            state[action, default: 0] += 1
            inside.subtract(1, ordering: .sequentiallyConsistent)
        }
        // Each action has an effect that dispatches one of another number.
        let echo = AnyMiddleware<Int, Int, [Int: Int]> { action, dispatcher, _ in
            action < 100 ? IO { $0.dispatch(action + 100, from: dispatcher) } : .pure()
        }
        let store = ReduxStore(initialState: [:], reducer: reducer, middleware: echo)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await onThread {
                        for count in 1...200 {
                            store.dispatch(number)
                            #expect(store.state[number] == count)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.state.count == 16)
        #expect(store.state.values.allSatisfy { $0 == 200 })
    }

    @Test("tells its state to who begins to listen, and every new one, from whatever thread an effect dispatches")
    func states() async throws {
        let later = AnyMiddleware<String, String, [String]> { action, dispatcher, _ in
            guard action == "a" else { return .pure() }
            return IO { output in
                Thread.detachNewThread { output.dispatch("b", from: dispatcher) }
            }
        }
        let store = ReduxStore(initialState: [], reducer: Self.append, middleware: later)
        let states = Recording(store.statePublisher)
        store.dispatch("a")
        try await until("both are there") { store.state.count == 2 && states.values.count == 3 }
        #expect(states.values == [[], ["a"], ["a", "b"]])
    }

    @Test("tells a middleware where an action came from, its effects' too")
    func sources() {
        let sources = Mutex([String]())
        let note = AnyMiddleware<String, String, [String]> { action, dispatcher, _ in
            sources.withLock { $0.append("\(action) \(dispatcher.info ?? "") \(dispatcher.function)") }
            return action == "a" ? IO { $0.dispatch("b", from: dispatcher) } : .pure()
        }
        let store = ReduxStore(initialState: [], reducer: Self.append, middleware: note)
        store.dispatch("a", info: "a button")
        #expect(sources.withLock { $0 } == ["a a button sources()", "b a button sources()"])
    }

    @Test("lets go of itself although effects are still to send it actions, which then reach nobody")
    func letGo() {
        let output = Mutex<AnyActionHandler<String>?>(nil)
        let keep = AnyMiddleware<String, String, [String]> { _, _, _ in
            IO { handler in output.withLock { $0 = handler } }
        }
        var store: ReduxStore? = ReduxStore(initialState: [], reducer: Self.append, middleware: keep)
        weak let released = store
        store?.dispatch("a")
        store = nil
        #expect(released == nil)
        output.withLock { $0 }?.dispatch("b", from: ActionSource())
    }
}
