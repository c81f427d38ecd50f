import Holdfast
import HoldfastTestSupport
import Testing

/// What was told, in order.
private actor Told {
    private(set) var results: [LiveResult<Song>] = []
    func add(_ result: LiveResult<Song>) { results.append(result) }
    var count: Int { results.count }

    /// Whether each difference leads from the result before to its own.
    var differencesApply: Bool {
        zip(results, results.dropFirst()).allSatisfy { before, after in
            after.difference.flatMap { before.elements.applying($0) } == after.elements
        }
    }
}

@Suite("A live query that is held back", .timeLimit(.minutes(20)))
struct LiveQueryPaceTests {
    /// With a clock that stands still, and a task that listens to what `paced` makes of the query.
    private nonisolated(nonsending) func listening(
        _ paced: @Sendable @escaping (LiveQuery<Song>) -> LiveQuery<Song>,
        _ body: nonisolated(nonsending) (Repository<Song>, MockClock, Told) async throws -> Void
    ) async throws {
        try await withSongs(.memory) { store, songs in
            let (clock, told) = (MockClock(), Told())
            try store.setClock(clock)
            try await songs.saveMany([Song(id: "s1", title: "", plays: 1), Song(id: "s2", title: "", plays: 2)])
            let query = paced(songs.observe(Query(sort: [.ascending(\.plays)])))
            let listener = Task { for try await result in query { await told.add(result) } }
            try await until("told at once") { await told.count == 1 }
            try await body(songs, clock, told)
            await #expect(told.differencesApply)
            listener.cancel()
            await #expect(throws: CancellationError.self) { try await listener.value }
        }
    }

    @Test("by debouncing tells what has come once nothing more comes for a while, and all of it together")
    func debounce() async throws {
        let paced: @Sendable (LiveQuery<Song>) -> LiveQuery<Song> = { $0.debounce(for: .seconds(1)) }
        try await listening(paced) { songs, clock, told in
            let changes: [@Sendable () async throws -> Void] = [
                { try await songs.modify(id: "s1", .set(\.plays, 3)) },
                { try await songs.delete(id: "s2") },
                { try await songs.add(Song(id: "s3", title: "", plays: 2)) },
                { try await songs.modify(id: "s3", .set(\.title, "Gloria")) },
            ]
            for change in changes {
                try await change()
                // It waits anew.
                try await until("waiting") { clock.nextWake == clock.now.advanced(by: .seconds(1)) }
                clock.advance(by: .milliseconds(999))
                await #expect(told.count == 1)
            }
            clock.advance(by: .milliseconds(1))
            try await until("told") { await told.count == 2 }
            let result = await told.results[1]
            #expect(result.elements.map(\.id) == ["s3", "s1"] && result.mergedCommits == 4)

            try await songs.delete(id: "s1")
            try await until("waiting") { clock.nextWake != nil }
            clock.advance(by: .seconds(1))
            try await until("told again") { await told.count == 3 }
            await #expect(told.results[2].difference?.count == 1)
        }
    }

    @Test("by throttling is told once in a while at most, and then as it is")
    func throttle() async throws {
        let paced: @Sendable (LiveQuery<Song>) -> LiveQuery<Song> = { $0.throttle(for: .seconds(1)) }
        try await listening(paced) { songs, clock, told in
            for number in 3...20 { try await songs.add(Song(id: "s\(number)", title: "", plays: number)) }
            await #expect(told.count == 1)
            var steps = 0
            while await told.results.last?.elements.count != 20 {
                try await until("waiting, or there") {
                    if clock.nextWake != nil { return true }
                    return await told.results.last?.elements.count == 20
                }
                clock.advance(by: .seconds(1))
                steps += 1
                await #expect(told.count <= 1 + steps)
            }
            let merged = await told.results.map(\.mergedCommits).reduce(0, +)
            #expect(merged == 18)

            // Nobody waits for a time that has passed already.
            clock.advance(by: .seconds(5))
            let count = await told.count
            try await songs.delete(id: "s1")
            try await until("told at once") { await told.count == count + 1 }
        }
    }

    @Test("by throttling waits no longer than for its interval where the clock was set back")
    func throttleOfAClockSetBack() async throws {
        let paced: @Sendable (LiveQuery<Song>) -> LiveQuery<Song> = { $0.throttle(for: .seconds(1)) }
        try await listening(paced) { songs, clock, told in
            clock.advance(by: .seconds(5000))
            try await songs.delete(id: "s1")
            try await until("told at once") { await told.count == 2 }
            clock.advance(by: .seconds(-3600))
            try await songs.add(Song(id: "s3", title: "", plays: 3))
            try await until("waiting anew") { clock.nextWake == clock.now.advanced(by: .seconds(1)) }
            clock.advance(by: .seconds(1))
            try await until("told") { await told.count == 3 }
        }
    }
}
