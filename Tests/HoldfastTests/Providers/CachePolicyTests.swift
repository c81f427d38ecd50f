import Holdfast
import HoldfastTestSupport
import Testing

@Suite("A cache policy")
struct CachePolicyTests {
    /// A repository over a provider that counts how often it is asked for an entity.
    private func repository(
        _ policy: CachePolicy, _ count: Int = 3
    ) async throws -> (songs: Repository<Song>, calls: MockCalls<MockStorageProvider<Song>.Function>) {
        let storage = MockStorageProvider((1...count).map { Song(id: "s\($0)", title: "") })
        return (try await Store.open(provider: storage).repository(of: Song.self, cachePolicy: policy), storage.calls)
    }

    /// Whether reading the entity asked the provider.
    private func isRead(
        _ id: String, _ it: (songs: Repository<Song>, calls: MockCalls<MockStorageProvider<Song>.Function>)
    ) async throws -> Bool {
        let before = it.calls.count(of: .fetch)
        _ = try await it.songs.fetch(id: id)
        return it.calls.count(of: .fetch) > before
    }

    @Test("has the presets that are known")
    func presets() {
        #expect(CachePolicy.default == CachePolicy(timeToLive: .seconds(300), maxEntries: 100, strategy: .lru))
        #expect(CachePolicy.aggressive == CachePolicy(timeToLive: .seconds(3600), maxEntries: 500, strategy: .lru))
        #expect(CachePolicy.noCache.maxEntries == 0)
    }

    @Test("is told with what it has done")
    func told() async throws {
        try await withStore(.memory) { store in
            var policy = CachePolicy(timeToLive: .milliseconds(1500), maxEntries: 7, strategy: .fifo)
            let songs = store.repository(of: Song.self, cachePolicy: policy)
            try await songs.save(Song(id: "s1", title: ""))
            let own = try await songs.cacheStatistics()
            policy.maxBytes = 67_108_864
            #expect(own.policy == policy && !own.isShared && own.entries == 1)
            let others = try await store.repository(of: Account.self).cacheStatistics()
            #expect(others.policy == CachePolicy(maxBytes: 67_108_864) && others.isShared)
            let all = try store.describe().cache
            #expect(all.policy == others.policy && all.isShared && all.entries == 1 && all.fills == own.fills)
        }
    }

    @Test("of LRU lets go of the entity that was used longest ago, and of one alone")
    func leastRecentlyUsed() async throws {
        let it = try await repository(CachePolicy(maxEntries: 2, strategy: .lru))
        for id in ["s1", "s2", "s1"] { _ = try await it.songs.fetch(id: id) }
        _ = try await it.songs.fetch(id: "s3")
        try await #expect(!isRead("s1", it))
        try await #expect(!isRead("s3", it))
        try await #expect(isRead("s2", it))
        try await #expect(it.songs.cacheStatistics().evictions == 2)
    }

    @Test("of FIFO lets go of the entity that came first, however often it is used and stored")
    func firstInFirstOut() async throws {
        let it = try await repository(CachePolicy(maxEntries: 2, strategy: .fifo))
        for id in ["s1", "s2", "s1"] { _ = try await it.songs.fetch(id: id) }
        try await it.songs.save(Song(id: "s1", title: "stored anew"))
        try await #expect(it.songs.cacheStatistics().evictions == 0)
        _ = try await it.songs.fetch(id: "s3")
        try await #expect(!isRead("s2", it))
        try await #expect(!isRead("s3", it))
        try await #expect(isRead("s1", it))
    }

    @Test("of so many bytes lets go of what was used longest ago until there is room, and takes in nothing larger")
    func bytes() async throws {
        try await withStore(.memory) { store in
            let songs = store.repository(of: Song.self, cachePolicy: CachePolicy(maxBytes: 10_000))
            for number in 1...50 {
                try await songs.save(Song(id: "s\(number)", title: String(repeating: "x", count: 1000)))
                try await #expect(songs.cacheStatistics().bytes <= 10_000)
            }
            let statistics = try await songs.cacheStatistics()
            #expect((1...9).contains(statistics.entries))
            #expect(statistics.evictions == 50 - UInt64(statistics.entries) && statistics.bytes > 5_000)
            let hits = statistics.hits
            _ = try await songs.fetch(id: "s50")
            try await #expect(songs.cacheStatistics().hits == hits + 1)
            _ = try await songs.fetch(id: "s1")
            try await #expect(songs.cacheStatistics().hits == hits + 1)
            try await songs.save(Song(id: "large", title: String(repeating: "x", count: 20_000)))
            try await #expect(songs.cacheStatistics().bytes <= 10_000)
            try await #expect(songs.fetch(id: "large")?.title.count == 20_000)
        }
    }

    @Test("with a time to live has an entity read again when it is older, which reading does not put off")
    func timeToLive() async throws {
        let it = try await repository(CachePolicy(timeToLive: .milliseconds(100)))
        let clock = MockClock()
        try it.songs.store.setClock(clock)
        try await #expect(isRead("s1", it))
        clock.advance(by: .milliseconds(60))
        try await #expect(!isRead("s1", it))
        clock.advance(by: .milliseconds(60))
        try await #expect(isRead("s1", it))
        clock.advance(by: .milliseconds(60))
        try await it.songs.save(Song(id: "s1", title: "stored anew"))
        clock.advance(by: .milliseconds(60))
        try await #expect(!isRead("s1", it))
        try await #expect(it.songs.cacheStatistics().expirations == 1)
    }

    @Test("without a time to live keeps an entity for ever")
    func noTimeToLive() async throws {
        let it = try await repository(CachePolicy(timeToLive: .zero))
        let clock = MockClock()
        try it.songs.store.setClock(clock)
        try await #expect(isRead("s1", it))
        clock.advance(by: .seconds(1_000_000_000))
        try await #expect(!isRead("s1", it))
    }

    @Test("of no size caches nothing")
    func noCache() async throws {
        let it = try await repository(.noCache)
        for _ in 0..<3 { try await #expect(isRead("s1", it)) }
        try await #expect(it.songs.cacheStatistics().entries == 0)
    }

    @Test("is what makes a store cache over a provider that does not count its changes")
    func asked() async throws {
        let storage = MockStorageProvider([Song(id: "s1", title: "")])
        let store = try await Store.open(provider: storage)
        let songs = store.repository(of: Song.self)
        for plays in 1...3 {
            storage.storage.save(Song(id: "s1", title: "", plays: plays))
            try await #expect(songs.fetch(id: "s1")?.plays == plays)
        }
        let cached = store.repository(of: Song.self, cachePolicy: .default)
        for _ in 1...3 { _ = try await cached.fetch(id: "s1") }
        #expect(storage.calls.count(of: .fetch) == 4)
        try await store.close()
    }

    @Test("that is none is refused when the repository is opened")
    func refusals() async throws {
        try await withStore(.memory) { store in
            for policy in [
                CachePolicy(timeToLive: .seconds(-1)), CachePolicy(maxEntries: -1),
                CachePolicy(maxBytes: -1),
            ] {
                await expectError(.invalidOption) {
                    try await store.repository(of: Song.self, cachePolicy: policy).open()
                }
            }
            try await store.repository(
                of: Song.self, cachePolicy: CachePolicy(timeToLive: .seconds(1e9), maxEntries: 1)
            ).open()
        }
    }

    // In memory: of a file, a checkpoint may come between, after which the cache begins anew.
    @Test("is trimmed by half, at least one, or of all, and loses no entity")
    func trimming() async throws {
        try await withStore(.memory) { store in
            let songs = store.repository(of: Song.self, cachePolicy: .default)
            try await songs.saveMany((0..<4).map { Song(id: "s\($0)", title: "") })
            for id in 0..<4 { _ = try await songs.fetch(id: "s\(id)") }
            for (level, left) in [(TrimLevel.warning, 2), (.warning, 1), (.warning, 0), (.critical, 0)] {
                try await songs.trimCache(level)
                try await #expect(songs.cacheStatistics().entries == left)
            }
            for id in 0..<4 { try await #expect(songs.fetch(id: "s\(id)") != nil) }
            try await songs.invalidateCache(id: "s0")
            try await #expect(songs.cacheStatistics().entries == 3)
            try await songs.trimCache(.critical)
            try await #expect(songs.cacheStatistics().entries == 0)
            try await #expect(songs.count() == 4)
        }
    }

    @Test("never shows what a transaction has not committed, nor forgets for its rollback", arguments: Engine.allCases)
    func rollback(engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = store.repository(of: Song.self, cachePolicy: .default)
            try await songs.save(Song(id: "s1", title: "committed"))
            try await #expect(songs.fetch(id: "s1")?.title == "committed")
            await #expect(throws: Refusal.self) {
                try await store.transaction {
                    try await songs.save(Song(id: "s1", title: "not committed"))
                    try await #expect(songs.fetch(id: "s1")?.title == "not committed")
                    let outside = try await inAnotherTask { try await songs.fetch(id: "s1")?.title }
                    #expect(outside == "committed")
                    throw Refusal()
                }
            }
            let before = try await songs.cacheStatistics()
            try await #expect(songs.fetch(id: "s1")?.title == "committed")
            // Of a file, a checkpoint may have come between, after which the cache begins anew.
            if engine == .memory {
                try await #expect(songs.cacheStatistics().hits == before.hits + 1)
            }
        }
    }

    @Test("shows a reader nothing older than the last commit that was completed", arguments: Engine.allCases)
    func racingReaders(engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = store.repository(of: Song.self, cachePolicy: CachePolicy(maxEntries: 2))
            try await songs.save(Song(id: "s1", title: ""))
            try await withThrowingTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        var last = 0
                        while last < 200 {
                            guard let plays = try await songs.fetch(id: "s1")?.plays else { break }
                            #expect(plays >= last)
                            last = plays
                        }
                    }
                }
                group.addTask {
                    for plays in 1...200 {
                        try await songs.save(Song(id: "s1", title: "", plays: plays))
                        try await #expect(songs.fetch(id: "s1")?.plays == plays)
                    }
                }
                try await group.waitForAll()
            }
            try await songs.delete(id: "s1")
            try await #expect(songs.fetch(id: "s1") == nil)
        }
    }
}
