import HoldfastFamiliar
import HoldfastTestSupport
import Synchronization
import Testing

@Suite("An LRU cache")
struct LRUCacheTests {
    /// The same, as slowly as can be.
    private struct Model {
        var entries: [(key: Int, value: Int)] = []
        let capacity: Int?
        let strategy: CacheStrategy

        mutating func get(_ key: Int) -> Int? {
            guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
            let entry = entries[index]
            if strategy == .lru { entries.append(entries.remove(at: index)) }
            return entry.value
        }
        mutating func set(_ value: Int, for key: Int) -> Int? {
            if let index = entries.firstIndex(where: { $0.key == key }) {
                entries[index].value = value
                _ = get(key)
                return nil
            }
            if capacity == 0 { return nil }
            let evicted = entries.count == capacity ? entries.removeFirst().key : nil
            entries.append((key, value))
            return evicted
        }
        mutating func remove(_ key: Int) -> Int? {
            entries.firstIndex { $0.key == key }.map { entries.remove(at: $0).value }
        }
    }

    @Test("does what a list does that is searched and moved", arguments: CacheStrategy.allCases, [nil, 0, 1, 2, 7])
    func likeAList(strategy: CacheStrategy, capacity: Int?) {
        var cache = LRUCache<Int, Int>(capacity: capacity, strategy: strategy)
        var model = Model(capacity: capacity, strategy: strategy)
        var random = SystemRandomNumberGenerator()
        var steps: [String] = []
        for step in 0..<2000 {
            let key = Int.random(in: 0..<12, using: &random)
            let isSame: Bool
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<8:
                steps.append("get \(key)")
                isSame = cache.get(key) == model.get(key)
            case 8..<16:
                steps.append("set \(key)")
                isSame = cache.set(step, for: key) == model.set(step, for: key)
            case 16..<18:
                steps.append("remove \(key)")
                isSame = cache.remove(key) == model.remove(key)
            case 18:
                steps.append("removeNext")
                isSame = cache.removeNext() == (model.entries.isEmpty ? nil : model.entries.removeFirst().key)
            default:
                guard step.isMultiple(of: 7) else { continue }
                steps.append("removeAll")
                cache.removeAll()
                model.entries = []
                isSame = true
            }
            guard isSame, cache.keys == model.entries.map(\.key), cache.count == model.entries.count else {
                Issue.record("differs after \(steps.suffix(40))")
                return
            }
        }
    }
}

@Suite("A cache manager")
struct CacheManagerTests {
    @Test("keeps a value for its time, which reading does not prolong and setting does")
    func timeToLive() async {
        let clock = MockClock()
        let cache = CacheManager<String, Int>(policy: CachePolicy(ttl: 10, maxSize: 2), clock: clock)
        await cache.set(1, for: "a")
        clock.advance(by: .seconds(10))
        await #expect(cache.get("a") == 1)
        clock.advance(by: .nanoseconds(1))
        await #expect(cache.get("a") == nil)
        await #expect(cache.count == 0)
        await cache.set(2, for: "a")
        clock.advance(by: .seconds(9))
        await cache.set(3, for: "a")
        clock.advance(by: .seconds(9))
        await #expect(cache.get("a") == 3)
        let endless = CacheManager<String, Int>(policy: CachePolicy(ttl: 0, maxSize: 2), clock: clock)
        await endless.set(1, for: "a")
        clock.advance(by: .seconds(1_000_000))
        await #expect(endless.get("a") == 1)
    }

    @Test("lets go of half, at least one, or of all, when memory is short")
    func trimming() async {
        let cache = CacheManager<Int, Int>(policy: CachePolicy(ttl: 0, maxSize: 10))
        for key in 1...5 { await cache.set(key, for: key) }
        await cache.trim(.warning)
        await #expect(cache.count == 2)
        await #expect(cache.get(4) == 4)
        await cache.trim(.warning)
        await #expect(cache.get(5) == nil)
        await cache.trim(.critical)
        await #expect(cache.count == 0)
        await cache.trim(.warning)
        await cache.set(1, for: 1)
        await cache.removeAll()
        await #expect(cache.get(1) == nil)
    }

    @Test("fetches what it has not, once, and asks again for what there is not")
    func fetching() async throws {
        let storage = MockStorageProvider([Song(id: "s1", title: "Gloria")])
        let cache = CacheManager<String, Song>()
        for _ in 0..<2 {
            let song = try await cache.value(for: "s1") { try await storage.fetch(id: "s1") }
            #expect(song?.title == "Gloria")
            let none = try await cache.value(for: "s2") { try await storage.fetch(id: "s2") }
            #expect(none == nil)
        }
        #expect(storage.calls.count(of: .fetch) == 3)
        await #expect(throws: Refusal()) { _ = try await cache.value(for: "s3") { throw Refusal() } }
    }

    @Test("does not keep what was fetched while it was removed, or set")
    func races() async throws {
        for isSet in [false, true] {
            let cache = CacheManager<String, Int>()
            let (reading, isRead) = AsyncStream<Void>.makeStream()
            let (going, goOn) = AsyncStream<Void>.makeStream()
            async let fetched = cache.value(for: "a") {
                isRead.finish()
                for await _ in going {}
                return 1
            }
            for await _ in reading {}
            if isSet { await cache.set(2, for: "a") } else { await cache.remove("a") }
            goOn.finish()
            await #expect(fetched == 1)
            await #expect(cache.get("a") == (isSet ? 2 : nil))
        }
    }
}
