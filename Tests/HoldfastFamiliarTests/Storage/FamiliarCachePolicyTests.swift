import HoldfastFamiliar
import Testing

@Suite("A cache policy with a time to live in seconds")
struct FamiliarCachePolicyTests {
    @Test("is the policy of that duration")
    func seconds() {
        #expect(CachePolicy(ttl: 300, maxSize: 100) == .default)
        #expect(CachePolicy(ttl: 0.5, maxSize: 2, strategy: .fifo).timeToLive == .milliseconds(500))
        var policy = CachePolicy.aggressive
        #expect(policy.ttl == .seconds(3600) && policy.maxSize == 500)
        (policy.ttl, policy.maxSize) = (.seconds(1), nil)
        #expect(policy == CachePolicy(timeToLive: .seconds(1)))
    }

    @Test("is refused where that is no time, and not where it is a long one")
    func outsideOfItsRange() async throws {
        try await withStore(.memory) { store in
            for seconds: Double in [-1, .nan, -.infinity] {
                let songs = store.repository(of: Song.self, cachePolicy: CachePolicy(ttl: seconds, maxSize: 1))
                await expectError(.invalidOption) { try await songs.open() }
            }
            try await store.repository(of: Song.self, cachePolicy: CachePolicy(ttl: 1e9, maxSize: 1)).open()
        }
    }
}
