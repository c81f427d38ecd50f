import SeededRandom
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery
@testable import HoldfastStorage

struct EvictionTests {
    /// The same, simply: an array in the order of eviction, the first to go first.
    private struct Model {
        let policy: CachePolicy
        var entries: [(key: Int, version: Int, size: Int)] = []

        mutating func use(_ key: Int) -> Int? {
            guard let found = entries.firstIndex(where: { $0.key == key }) else { return nil }
            let version = entries[found].version
            if policy.strategy == .lru { entries.append(entries.remove(at: found)) }
            return version
        }

        mutating func set(_ key: Int, _ version: Int, size: Int) {
            let found = entries.firstIndex { $0.key == key }
            if size > policy.maxBytes! || policy.maxEntries == 0 {
                if let found { entries.remove(at: found) }
                return
            }
            if let found, policy.strategy == .fifo {
                entries[found] = (key, version, size)
            } else {
                if let found { entries.remove(at: found) }
                entries.append((key, version, size))
            }
            while entries.count > policy.maxEntries ?? .max || entries.reduce(0, { $0 + $1.size }) > policy.maxBytes! {
                entries.removeFirst()
            }
        }
    }

    private let token = ChangeToken(100_000)

    private func key(_ number: Int) -> EntityKey {
        // Of every length that the hash treats in its own way.
        EntityKey(1, EntityID(unchecked: Array(String(repeating: "k", count: number % 23).utf8) + [UInt8(40 + number)]))
    }

    @Test(
        arguments: CachePolicy.Strategy.allCases,
        [(0, 50), (1, 5_000), (2, 5_000), (7, 100_000), (nil, 0), (nil, 700), (40, 9_000)])
    func `a cache drops what its strategy says, as a simple model does`(
        strategy: CachePolicy.Strategy, limits: (count: Int?, bytes: Int)
    ) throws {
        let policy = CachePolicy(strategy: strategy, maxEntries: limits.count, maxBytes: limits.bytes)
        var random = SeededGenerator(seed: UInt64(limits.bytes))
        let cache = EntityCache(limitBytes: 0, head: 100_000, clock: StoreClock(SystemTime()))
        cache.setPolicy(policy, of: 1)
        cache.advance(to: 100_000, token)
        var model = Model(policy: policy)
        for step in 0..<20_000 {
            let number = Int.random(in: 0..<60, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9: #expect(cache.newest(key(number), token)?.version == model.use(number).map(UInt64.init))
            case 9..<18:
                let body = [UInt8](repeating: 0, count: Int.random(in: 1...120, using: &random))
                body.withBytes { cache.fill(key(number), at: 100_000, token, version: UInt64(step), $0) }
                model.set(
                    number, step, size: EntityCache.size(idBytes: key(number).id.bytes.count, bodyBytes: body.count))
            case 18:
                cache.invalidate(key(number))
                model.entries.removeAll { $0.key == number }
            default:
                if step % 50 == 0 {
                    cache.trim(1, .critical)
                    model.entries = []
                } else if !model.entries.isEmpty {
                    cache.trim(1, .warning)
                    model.entries.removeFirst(max(1, model.entries.count / 2))
                }
            }
            let statistics = cache.statistics(of: 1)
            #expect(statistics.entries == model.entries.count)
            #expect(statistics.bytes == model.entries.reduce(0) { $0 + $1.size })
            if step % 16 == 0 { #expect(cache.violatedInvariant() == nil) }
        }
    }

    @Test func `all that is cached is found while the table grows, and nothing that was taken out`() throws {
        let cache = EntityCache(limitBytes: 100_000_000, head: 100_000, clock: StoreClock(SystemTime()))
        cache.advance(to: 100_000, token)
        func key(_ number: Int) -> EntityKey { EntityKey(1, EntityID(unchecked: Array("entity \(number)".utf8))) }
        for round in 0..<3 {
            for number in 0..<20_000 {
                [1, 2].withBytes { cache.fill(key(number), at: 100_000, token, version: UInt64(number + 1), $0) }
                if number % 3 == round { cache.invalidate(key(number)) }
            }
            for number in 0..<20_000 {
                let expected = number % 3 == round ? nil : UInt64(number + 1)
                #expect(cache.newest(key(number), token)?.version == expected)
            }
        }
        #expect(cache.violatedInvariant() == nil)
    }
}

/// Reading with a copy, which is what tests look at.
extension EntityCache {
    struct Copy {
        var head: CommitSequence
        var version: CommitSequence
        var body: [UInt8]
    }

    func newest(_ key: EntityKey, _ token: ChangeToken?) -> Copy? {
        var copy: Copy?
        let look = try? key.id.bytes.withBytes { id throws(HoldfastError) in
            try lendNewest(table(of: key.repository), id, token) {
                copy = Copy(head: 0, version: $0, body: Array($1))
            }
        }
        if case .found(let head) = look { copy?.head = head }
        return copy
    }

    func entity(_ key: EntityKey, at sequence: CommitSequence) -> Copy? {
        var copy: Copy?
        _ = try? key.id.bytes.withBytes { id throws(HoldfastError) in
            try lend(table(of: key.repository), id, at: sequence) {
                copy = Copy(head: sequence, version: $0, body: Array($1))
            }
        }
        return copy
    }
}
