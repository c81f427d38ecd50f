import SeededRandom
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery
@testable import HoldfastStorage

struct EntityCacheTests {
    private let key = EntityKey(1, EntityID(unchecked: Array("a".utf8)))
    private let old = ChangeToken(10)
    private let new = ChangeToken(11)
    private let clock = StoreClock(SystemTime())

    private func fill(_ cache: EntityCache, _ key: EntityKey, at sequence: CommitSequence, _ version: CommitSequence) {
        fill(cache, key, at: sequence, old, version)
    }

    private func fill(
        _ cache: EntityCache, _ key: EntityKey, at sequence: CommitSequence, _ token: ChangeToken,
        _ version: CommitSequence
    ) {
        Array("\(version)".utf8).withBytes { cache.fill(key, at: sequence, token, version: version, $0) }
    }

    private func filled() -> EntityCache {
        let cache = EntityCache(limitBytes: 1_000, head: 10, clock: clock)
        cache.advance(to: 10, old)
        fill(cache, key, at: 10, 7)
        return cache
    }

    @Test func `an entity serves the newest state while the token says that it is that`() {
        let cache = filled()
        #expect(cache.newest(key, old)?.version == 7)
        #expect(cache.newest(key, old)?.head == 10)
        #expect(cache.newest(key, new) == nil)
        #expect(cache.newest(key, nil) == nil)
    }

    @Test func `an entity serves snapshots from its version up to the head`() {
        let cache = filled()
        #expect([6, 7, 10, 11].map { cache.entity(key, at: $0)?.version } == [nil, 7, 7, nil])
    }

    @Test func `a snapshot from before an import that keeps versions is not served`() {
        let cache = filled()
        cache.beginCommit(on: 10, old)
        cache.endCommit([], head: 11, new, keepsVersions: true)
        #expect([10, 11].map { cache.entity(key, at: $0)?.version } == [nil, 7])
    }

    @Test func `a commit brings its entities up to date and leaves the others`() {
        let cache = filled()
        let other = EntityKey(1, EntityID(unchecked: Array("b".utf8)))
        fill(cache, other, at: 10, 3)
        cache.beginCommit(on: 10, old)
        cache.endCommit([EntityChange(key: key, version: 11, body: Array("11".utf8))], head: 11, new)
        #expect(cache.newest(key, new)?.version == 11)
        #expect(cache.entity(key, at: 10) == nil)
        #expect(cache.newest(other, new)?.version == 3)
        cache.beginCommit(on: 11, new)
        cache.endCommit([EntityChange(key: key, version: 12, body: nil)], head: 12, ChangeToken(12))
        #expect(cache.newest(key, ChangeToken(12)) == nil)
    }

    @Test func `what nobody has read is not taken in by a commit`() {
        let cache = EntityCache(limitBytes: 1_000, head: 10, clock: clock)
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

    @Test func `of commits whose changes are known only the changed entities go, whoever notices them first`() {
        let other = EntityKey(1, EntityID(unchecked: Array("b".utf8)))
        let entry = CommitLogEntry(
            sequence: 11, commitIdentifier: 1, time: 1, changes: [CommitLogEntry.Change(key: key, isDeletion: false)])
        func asked(_ token: ChangeToken, _ head: CommitSequence, _ limit: Int) -> [CommitLogEntry]? {
            token == old && head == 10 ? [entry] : nil
        }
        let seen = filled()
        fill(seen, other, at: 10, 3)
        seen.advance(to: 11, new, asked)
        #expect(seen.newest(key, new) == nil)
        #expect(seen.newest(other, new)?.version == 3)
        // An import gives its entities small versions, so what is filled from here on is not shown to older snapshots.
        #expect(seen.entity(other, at: 10) == nil)

        let built = filled()
        fill(built, other, at: 10, 3)
        built.beginCommit(on: 11, new, asked)
        built.endCommit([], head: 12, ChangeToken(12))
        #expect(built.newest(key, ChangeToken(12)) == nil)
        #expect(built.newest(other, ChangeToken(12))?.version == 3)
    }

    @Test func `what was read from another state than the head is not taken in`() {
        let cache = EntityCache(limitBytes: 1_000, head: 10, clock: clock)
        cache.advance(to: 10, old)
        fill(cache, key, at: 9, 7)
        #expect(cache.newest(key, old) == nil)
        cache.beginCommit(on: 10, old)
        fill(cache, key, at: 10, 7)
        cache.endCommit([], head: 11, new)
        #expect(cache.newest(key, new) == nil)
    }

    @Test func `a commit behind which somebody may have committed serves nobody until the storage was read`() {
        let cache = filled()
        cache.beginCommit(on: 10, old)
        cache.endCommit([], head: 11, nil)
        #expect(cache.newest(key, new) == nil)
        cache.advance(to: 11, new)
        fill(cache, key, at: 11, new, 7)
        #expect(cache.newest(key, new)?.version == 7)
    }
    @Test func `what was read under another token than the newest is not taken in, though the sequence is the same`() {
        let cache = filled()
        cache.advance(to: 10, new)
        fill(cache, key, at: 10, 7)
        #expect(cache.newest(key, new) == nil)
    }

    // MARK: Policies

    private func commit(_ cache: EntityCache, _ body: String?, at sequence: CommitSequence) {
        cache.beginCommit(on: sequence - 1, ChangeToken(sequence - 1))
        let change = EntityChange(key: key, version: sequence, body: body.map { Array($0.utf8) })
        cache.endCommit([change], head: sequence, ChangeToken(sequence))
    }

    @Test func `a commit fills the list of a repository with a policy`() {
        let cache = filled()
        cache.setPolicy(CachePolicy(), of: 1)
        #expect(cache.newest(key, old) == nil)
        commit(cache, "new", at: 11)
        #expect(cache.newest(key, new)?.version == 11)
        commit(cache, nil, at: 12)
        #expect(cache.newest(key, ChangeToken(12)) == nil)
        let counts = cache.statistics(of: 1).counts
        #expect([counts.fills, counts.hits, counts.misses, counts.invalidations] == [2, 1, 2, 2])
    }

    private final class SetClock: HostClock {
        let time = Lock<UInt64>(0)
        func now() -> UInt64 { time.withLock { $0 } }
        func show(milliseconds: UInt64) { time.withLock { $0 = milliseconds * 1_000_000 } }
    }

    @Test func `an entry older than its time to live has expired, counted from when it was set last`() {
        let cache = filled()
        let shown = SetClock()
        cache.setClock(shown)
        cache.advance(to: 10, old)
        cache.setPolicy(CachePolicy(timeToLiveMilliseconds: 100), of: 1)
        fill(cache, key, at: 10, 7)
        shown.show(milliseconds: 100)
        #expect(cache.newest(key, old) != nil)
        shown.show(milliseconds: 101)
        #expect(cache.entity(key, at: 10) == nil)
        #expect(cache.statistics(of: 1).counts.expirations == 1)
        fill(cache, key, at: 10, 7)
        shown.show(milliseconds: 200)
        commit(cache, "new", at: 11)
        shown.show(milliseconds: 300)
        #expect(cache.newest(key, new) != nil)
        // A clock that goes back lets nothing expire.
        shown.show(milliseconds: 0)
        #expect(cache.newest(key, new) != nil)
    }

    @Test func `the numbers of repositories that share the general list add up while they push each other out`() {
        var random = SeededGenerator(seed: 1)
        let cache = EntityCache(limitBytes: 3_000, head: 10, clock: clock)
        cache.advance(to: 10, old)
        cache.setPolicy(CachePolicy(strategy: .fifo, maxEntries: 3), of: 3)
        for _ in 0..<5_000 {
            let repository = RepositoryID.random(in: 1...3, using: &random)
            let key = EntityKey(repository, EntityID(unchecked: [UInt8.random(in: 0..<20, using: &random)]))
            switch Int.random(in: 0..<8, using: &random) {
            case 0: cache.invalidate(key)
            case 1: cache.trim(repository, .warning)
            case 2: _ = cache.newest(key, old)
            default: fill(cache, key, at: 10, .random(in: 1...9_999_999, using: &random))
            }
            let all = (1...3).map { cache.statistics(of: $0) }
            for statistics in all {
                let counts = statistics.counts
                // Overwriting is a fill, and adds no entry.
                #expect(UInt64(statistics.entries) + counts.evictions + counts.invalidations <= counts.fills)
                #expect(statistics.entries * 161 <= statistics.bytes && statistics.bytes <= statistics.entries * 168)
            }
            #expect(all[0].bytes + all[1].bytes <= 3_000 && all[2].entries <= 3)
            #expect(cache.statistics.entries == all.reduce(0) { $0 + $1.entries })
        }
        for repository in RepositoryID(1)...3 { cache.trim(repository, .critical) }
        #expect(cache.statistics.entries == 0 && cache.statistics.bytes == 0)
    }
}
