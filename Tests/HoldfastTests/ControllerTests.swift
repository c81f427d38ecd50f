import Foundation
import Holdfast
import Testing

@Suite("A controller", .timeLimit(.minutes(20)))
struct ControllerTests {
    /// The first state of which this holds.
    private nonisolated(nonsending) func state<Entity>(
        of controller: Controller<Entity>, _ isMeant: (ControllerState<Entity>) -> Bool
    ) async throws -> ControllerState<Entity> {
        for await state in controller.states where isMeant(state) { return state }
        throw CancellationError()
    }

    private func titles(_ state: ControllerState<Song>, _ token: String) -> [String] {
        if case .received(let songs, _) = state.request(token) { songs.map(\.title) } else { [] }
    }

    @Test("saves, answers requests and each change of what they find, and deletes", arguments: Engine.allCases)
    func actions(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let controller = try await Controller(songs)
            if case .initial = controller.state.request() {} else { Issue.record("something was requested") }
            try await controller.dispatch(
                .request(Query(\.plays >= 10, sort: [.ascending(\.title)]), token: "favourites"))
            try await controller.dispatch(.save(Song(id: "s1", title: "Gloria", plays: 12), token: "first"))
            let saved = try await state(of: controller) {
                if case .succeeded = $0.save("first") { true } else { false }
            }
            guard case .succeeded(let version) = saved.save() else { return }
            #expect(version > 0)
            #expect(try saved.saved("first") == Song(id: "s1", title: "Gloria", plays: 12))
            try await store.transaction { try await songs.save(Song(id: "s2", title: "Amandrai", plays: 10)) }
            _ = try await state(of: controller) { titles($0, "favourites") == ["Amandrai", "Gloria"] }

            try await controller.dispatch(.delete(id: "s1", token: "gone"))
            _ = try await state(of: controller) {
                if case .succeeded = $0.delete("gone") { titles($0, "favourites") == ["Amandrai"] } else { false }
            }
            try await controller.dispatch(.cancelRequest("favourites"))
            if case .canceled = controller.state.request("favourites") {} else { Issue.record("it was cancelled") }
            let count = try await songs.count()
            #expect(count == 1)
            try await controller.close()
        }
    }

    @Test("leaves what has ended as it is when that is cancelled")
    func late() async throws {
        try await withSongs(.memory) { _, songs in
            let controller = try await Controller(songs)
            try await controller.dispatch(.save(Song(id: "s1", title: "Gloria"), token: "first"))
            _ = try await state(of: controller) { if case .succeeded = $0.save("first") { true } else { false } }
            for action in [ControllerAction<Song>.cancelSave("first"), .cancelDelete("first"), .cancelSave("none")] {
                try await controller.dispatch(action)
                if case .succeeded = controller.state.save() {} else { Issue.record("it had been saved") }
            }
            try await controller.close()
        }
    }

    @Test("tells why something failed, and tries nothing again by itself")
    func failures() async throws {
        try await withSongs(.memory) { _, songs in
            let controller = try await Controller(songs)
            try await controller.dispatch(.delete(id: "none"))
            let failed = try await state(of: controller) { if case .failed = $0.delete() { true } else { false } }
            guard case .failed(let error) = failed.delete() else { return }
            #expect(error.status == .notFound && !error.message.isEmpty)
            try await controller.dispatch(.delete(id: "none", missingOK: true))
            _ = try await state(of: controller) { if case .succeeded = $0.delete() { true } else { false } }
            await expectError(.invalidArgument) { try await controller.dispatch(.request(Query(limit: 0))) }
            try await controller.close()
        }
    }

    @Test("assigns ids as the type of the id has them, and lists what cannot be read")
    func entities() async throws {
        try await withStore(.memory) { store in
            let drafts = store.repository(of: Draft.self)
            let controller = try await Controller(drafts)
            try await controller.dispatch(.save(Draft(text: "hello"), token: "new"))
            let saved = try await state(of: controller) { if case .succeeded = $0.save("new") { true } else { false } }
            let draft = try #require(try saved.saved("new"))
            let stored = try await drafts.fetch(id: draft.id)
            #expect(draft.id != nil && stored == draft)

            try await store.repository(of: Song.self, named: "draft").save(Song(id: "s1", title: ""))
            try await controller.dispatch(.request(token: "all"))
            let found = try await state(of: controller) {
                if case .received = $0.request("all") { true } else { false }
            }
            guard case .received(let entities, let unreadable) = found.request("all") else { return }
            #expect(entities == [draft] && unreadable.map(\.status) == [.corrupt])
            try await controller.close()
        }
    }

    @Test("ends its states when it is closed, and lets go of its store")
    func closing() async throws {
        weak var gone: Store?
        do {
            let store = try await Store.open("memory:")
            gone = store
            let controller = try await Controller(store.repository(of: Song.self))
            try await controller.dispatch(.request())
            let reader = Task { for await _ in controller.states {} }
            try await controller.close()
            await reader.value
            let another = try await Controller(store.repository(of: Song.self))
            try await another.dispatch(.request())
        }
        try await until("the store is gone") { gone == nil }
    }
}
