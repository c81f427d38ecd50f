import Testing

@testable import HoldfastCore

struct EntityCacheTests {
    private let key = EntityKey(1, EntityID(unchecked: Array("a".utf8)))
    private let old = ChangeToken(10)
    private let new = ChangeToken(11)

    private func entity(_ version: CommitSequence) -> EntityCache.Entity {
        EntityCache.Entity(version: version, text: Array("\(version)".utf8))
    }

    private func filled() -> EntityCache {
        let cache = EntityCache(limitBytes: 1_000, head: 10)
        cache.advance(to: 10, old)
        cache.fill(key, at: 10) { entity(7) }
        return cache
    }

    @Test func `an entity serves the newest state while the token says that it is that`() {
        let cache = filled()
        #expect(cache.newest(key, old)?.entity.version == 7)
        #expect(cache.newest(key, old)?.head == 10)
        #expect(cache.newest(key, new) == nil)
        #expect(cache.newest(key, nil) == nil)
    }

    @Test func `an entity serves snapshots from its version up to the head`() {
        let cache = filled()
        #expect([6, 7, 10, 11].map { cache.entity(key, at: $0)?.version } == [nil, 7, 7, nil])
    }

    @Test func `a commit brings its entities up to date and leaves the others`() {
        let cache = filled()
        let other = EntityKey(1, EntityID(unchecked: Array("b".utf8)))
        cache.fill(other, at: 10) { entity(3) }
        cache.beginCommit(on: 10, old)
        cache.endCommit([EntityChange(key: key, version: 11, body: Array("11".utf8))], head: 11, new)
        #expect(cache.newest(key, new)?.entity.version == 11)
        #expect(cache.entity(key, at: 10) == nil)
        #expect(cache.newest(other, new)?.entity.version == 3)
        cache.beginCommit(on: 11, new)
        cache.endCommit([EntityChange(key: key, version: 12, body: nil)], head: 12, ChangeToken(12))
        #expect(cache.newest(key, ChangeToken(12)) == nil)
    }

    @Test func `what nobody has read is not taken in by a commit`() {
        let cache = EntityCache(limitBytes: 1_000, head: 10)
        cache.advance(to: 10, old)
        cache.beginCommit(on: 10, old)
        cache.endCommit([EntityChange(key: key, version: 11, body: [1])], head: 11, new)
        #expect(cache.newest(key, new) == nil)
    }

    @Test func `somebody else's commit empties the cache, whoever notices it first`() {
        let seen = filled()
        seen.advance(to: 11, new)
        #expect(seen.newest(key, new) == nil)

        let built = filled()
        built.beginCommit(on: 11, new)
        built.endCommit([], head: 12, ChangeToken(12))
        #expect(built.newest(key, ChangeToken(12)) == nil)

        // A program that writes no log entries changes the token alone.
        let silent = filled()
        silent.advance(to: 10, new)
        #expect(silent.newest(key, new) == nil)
    }

    @Test func `what was read from another state than the head is not taken in`() {
        let cache = EntityCache(limitBytes: 1_000, head: 10)
        cache.advance(to: 10, old)
        cache.fill(key, at: 9) { entity(7) }
        #expect(cache.newest(key, old) == nil)
        cache.beginCommit(on: 10, old)
        cache.fill(key, at: 10) { entity(7) }
        cache.endCommit([], head: 11, new)
        #expect(cache.newest(key, new) == nil)
    }

    @Test func `a commit behind which somebody may have committed serves nobody until the storage was read`() {
        let cache = filled()
        cache.beginCommit(on: 10, old)
        cache.endCommit([], head: 11, nil)
        #expect(cache.newest(key, new) == nil)
        cache.advance(to: 11, new)
        cache.fill(key, at: 11) { entity(7) }
        #expect(cache.newest(key, new)?.entity.version == 7)
    }
}
