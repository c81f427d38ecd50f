import HoldfastFamiliar
import Testing

@Suite("The reducer of persistence actions")
struct PersistenceReducerTests {
    private let reducer = Jukebox.makeReducer()
    private let gloria = Song(id: "s1", title: "Gloria")

    /// The state after each action.
    private func states<Told>(_ actions: [SongsAction], _ told: (SongsState) -> Told) -> [Told] {
        var state = SongsState()
        return [told(state)]
            + actions.map { action in
                reducer.reduce(action, &state)
                return told(state)
            }
    }

    @Test("is called alone, and leads each lane from initial on, without the others")
    func lanes() {
        let told = states([.save(gloria), .delete(gloria), .request("all"), .cancelRequest]) {
            [$0.persist.told, $0.delete.told, $0.request.told]
        }
        #expect(
            told == [
                ["initial", "initial", "initial"],
                ["processing", "initial", "initial"],
                ["processing", "processing", "initial"],
                ["processing", "processing", "loading"],
                ["processing", "processing", "canceled"],
            ])
    }

    @Test("answers the same for the same action and state, and keeps the state that it was given")
    func pure() {
        var first = SongsState()
        reducer.reduce(.request("all", token: "a"), &first)
        let before = first
        var second = before
        for _ in 1...2 {
            first = before
            reducer.reduce(.cancelRequest("a"), &first)
            second = before
            reducer.reduce(.cancelRequest("a"), &second)
            #expect(first.request.told == second.request.told)
            #expect(before.request.told == "loading")
        }
    }

    @Test("keeps a state for each token, and shows what was begun last in the lane")
    func tokens() {
        let states = states([
            .request("rock", token: "a"), .request("soul", token: "b"), .cancelRequest("a"), .cancelRequest,
        ]) { $0 }
        #expect(states[2].requests.mapValues(\.told) == ["a": "loading", "b": "loading"])
        #expect(states[3].requests.mapValues(\.told) == ["a": "canceled", "b": "loading"])
        #expect(states[3].request.told == "loading")
        #expect(states[4].requests.mapValues(\.told) == ["a": "canceled", "b": "canceled"])
        #expect(states[4].request.told == "canceled")
    }

    @Test("gives each request without a token one of its own")
    func noTokens() {
        let states = states([.request("rock"), .request("soul")]) { $0.requests.count }
        #expect(states == [0, 1, 2])
    }

    @Test("changes nothing for a cancellation of what is not there, or has ended")
    func nothingToCancel() {
        let told = states([
            .cancelRequest, .cancelRequest("a"), .request("rock", token: "a"), .cancelRequest("b"),
            .cancelRequest("a"), .cancelRequest("a"),
        ]) { $0.requests.mapValues(\.told) }
        #expect(told == [[:], [:], [:], ["a": "loading"], ["a": "loading"], ["a": "canceled"], ["a": "canceled"]])
    }

    @Test("remembers the last thousand that have ended, and all that have not")
    func bounded() {
        var state = SongsState()
        reducer.reduce(.request("live", token: "live"), &state)
        for number in 0..<1500 {
            let token = PersistenceToken("\(number)")
            reducer.reduce(.request("rock", token: token), &state)
            reducer.reduce(.cancelRequest(token), &state)
        }
        #expect(state.requests.count == 1001)
        #expect(state.requests["live"]?.told == "loading")
        #expect(state.requests["500"]?.told == "canceled")
        #expect(state.requests["499"] == nil)
    }

    @Test("is a part of an application's, each feature with its own state")
    func lifted() {
        let reducer = Reducer<AppAction, AppState>.compose(
            Jukebox.makeReducer().lift(action: \.songs, state: \.songs),
            Jukebox.makeReducer().lift(action: \.favourites, state: \.favourites))
        var state = AppState()
        reducer.reduce(.songs(.save(gloria)), &state)
        #expect(state.songs.persist.told == "processing")
        #expect(state.favourites.persist.told == "initial")
        reducer.reduce(.favourites(.request("all")), &state)
        #expect(state.songs.request.told == "initial")
        #expect(state.favourites.request.told == "loading")
    }
}

/// An application of two features.
enum AppAction: Sendable {
    case songs(SongsAction)
    case favourites(SongsAction)

    var songs: SongsAction? { if case .songs(let action) = self { action } else { nil } }
    var favourites: SongsAction? { if case .favourites(let action) = self { action } else { nil } }
}

struct AppState: Sendable {
    var songs = SongsState()
    var favourites = SongsState()
}
