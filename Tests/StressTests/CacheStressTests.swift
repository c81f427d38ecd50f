import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage
import SeededRandom
import Synchronization
import Testing

@testable import HoldfastCore

/// Threads that read the cache without a lock, beside one that commits, evicts and grows its tables. What this cannot see,
/// the thread sanitizer can: `swift test --sanitize=thread --filter StressTests`.
struct CacheStressTests {
    private static let keys: UInt64 = 40
    private static let commits = UInt64(StressTests.transactions * 100)

    private static func key(_ number: UInt64) -> EntityKey {
        EntityKey(1, EntityID(unchecked: Array("entity \(number)".utf8)))
    }

    /// Of every entity as of a commit: the commit that wrote it last. Each commit writes the next entity.
    private static func version(_ number: UInt64, at sequence: UInt64) -> UInt64 {
        sequence < number ? 0 : sequence - (sequence - number) % keys
    }

    /// Of another length, and of other bytes, in each version.
    private static func body(_ version: UInt64) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: version), count: Int(version % 97) + 1)
    }

    private struct Reader {
        let cache: EntityCache
        let table: CacheTable
        let head: @Sendable () -> UInt64?
        let faults: Lock<[String]>
        let found: @Sendable () -> Void
        var random: SeededGenerator

        mutating func step() -> NextStep {
            guard let sequence = head() else { return .finished }
            let number = UInt64.random(in: 0..<keys, using: &random)
            let key = key(number)
            let expected = version(number, at: sequence)
            var read: (version: UInt64, body: [UInt8])?
            let look = try? key.id.bytes.withBytes { id throws(HoldfastError) in
                try cache.lendNewest(table, id, ChangeToken(sequence)) { read = ($0, Array($1)) }
            }
            switch look {
            case .found(let head):
                if head != sequence || read?.version != expected || read?.body != body(expected) {
                    faults.withLock { $0.append("\(number) at \(sequence): \(read?.version ?? 0) of \(head)") }
                }
                found()
            case .missing where expected > 0:
                body(expected).withBytes {
                    cache.fill(key, at: sequence, ChangeToken(sequence), version: expected, $0)
                }
            default: break
            }
            return .again
        }
    }

    @Test(arguments: CachePolicy.Strategy.allCases)
    func `who reads the cache beside commits and evictions finds each entity as the state that it asked for has it`(
        strategy: CachePolicy.Strategy
    ) throws {
        let cache = EntityCache(limitBytes: 0, head: 0, clock: StoreClock(SystemTime()))
        // Not for all, so that some are evicted.
        cache.setPolicy(CachePolicy(strategy: strategy, maxEntries: Int(Self.keys) - 7, maxBytes: 1 << 20), of: 1)
        cache.advance(to: 0, ChangeToken(0))
        let head = PublishedHead()
        let (faults, found) = (Lock<[String]>([]), Counter())
        var workers: [any Worker] = []
        for number in 0..<3 as Range<UInt64> {
            let reader = Lock(
                Reader(
                    cache: cache, table: cache.table(of: 1), head: { head.value }, faults: faults,
                    found: { found.add() }, random: SeededGenerator(seed: number)))
            workers.append(try ThreadWorkers().start(name: "reader") { reader.withLock { $0.step() } })
        }
        for sequence in 1...Self.commits {
            cache.beginCommit(on: sequence - 1, ChangeToken(sequence - 1))
            let number = sequence % Self.keys
            let change = EntityChange(key: Self.key(number), version: sequence, body: Self.body(sequence))
            cache.endCommit([change], head: sequence, ChangeToken(sequence))
            head.value = sequence
            if sequence % 50 == 0 { cache.invalidate(1) }
            if sequence % 64 == 0 { cache.trim(1, .warning) }
        }
        // On a machine with one processor they may not have had their turn.
        while found.count < 1000 { sched_yield() }
        head.value = nil
        for worker in workers { _ = worker.waitUntilFinished(deadline: nil) }
        #expect(faults.withLock { $0.prefix(3) } == [])
        #expect(cache.violatedInvariant() == nil)
    }

    private final class PublishedHead: Sendable {
        private let sequence = Atomic<UInt64>(0)

        /// nil at the end.
        var value: UInt64? {
            get {
                let value = sequence.load(ordering: .acquiring)
                return value == .max ? nil : value
            }
            set { sequence.store(newValue ?? .max, ordering: .releasing) }
        }
    }

    private final class Counter: Sendable {
        private let number = Atomic<Int>(0)
        var count: Int { number.load(ordering: .relaxed) }
        func add() { number.wrappingAdd(1, ordering: .relaxed) }
    }
}
