import Synchronization
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery
@testable import HoldfastStorage

/// The system's steady clock, and a calendar that a test sets.
private final class SetCalendar: TimeSource {
    private let calendar = Atomic<UInt64>(1_750_000_000_000)

    func monotonicNanoseconds() -> UInt64 { SystemTime().monotonicNanoseconds() }
    func wallMilliseconds() -> UInt64 { calendar.load(ordering: .relaxed) }
    func set(_ milliseconds: UInt64) { calendar.store(milliseconds, ordering: .relaxed) }
}

@Suite("When the calendar jumps")
struct ClockTests {
    /// 1970, 1995, 2085, the year 10889 from which on a UUID's time begins anew, and the last that can be stored.
    private static let times: [UInt64] = [0, 1, 788_918_400_000, 3_629_000_000_000, 1 << 48, UInt64(Int64.max)]

    private let time = SetCalendar()

    private func store(on storage: MemoryStorage = MemoryStorage()) throws -> Store {
        try Store(
            url: "memory:", storage: storage, options: StoreOptions(),
            environment: Environment(time: time, random: SystemRandom(), workers: ThreadWorkers()))
    }

    private func save(_ text: String, in repository: Repository, _ transaction: Transaction? = nil) throws -> Entity {
        try text.withBytes { try repository.perform(WriteCall(.save, nil, $0), in: transaction) }
    }

    private func commit(_ text: String, key: String, in repository: Repository) throws -> Receipt {
        var options = TransactionOptions()
        options.idempotencyKey = Array(key.utf8)
        let transaction = try repository.store.begin(options)
        _ = try save(text, in: repository, transaction)
        return try transaction.commit()
    }

    @Test("assigned ids stay unique and, after a jump back, go on rising")
    func ids() throws {
        let store = try store()
        let songs = try store.repository("songs", options: RepositoryOptions())
        var ids: [EntityID] = []
        for time in Self.times + Self.times.reversed() {
            self.time.set(time)
            for _ in 0..<3 { ids.append(try save("{}", in: songs).id) }
        }
        #expect(Set(ids).count == ids.count)
        let present = ids[..<12]
        #expect(present.sorted() == Array(present))
        #expect(try songs.count() == UInt64(ids.count))
        #expect(try store.close(timeoutMilliseconds: nil))
    }

    @Test("an idempotency key that was just used is known, also where keys are trimmed meanwhile", arguments: times)
    func keys(_ time: UInt64) throws {
        let store = try store()
        let songs = try store.repository("songs", options: RepositoryOptions())
        let first = try commit(#"{"id":"a"}"#, key: "k", in: songs)
        self.time.set(time)
        for number in 0..<1100 { _ = try save(#"{"id":"\#(number)"}"#, in: songs) }
        let again = try commit(#"{"id":"a"}"#, key: "k", in: songs)
        #expect(again.isReplayed && again.sequence == first.sequence)
        #expect(try store.replay(Array("k".utf8))?.sequence == first.sequence)
        #expect(try store.close(timeoutMilliseconds: nil))
    }

    @Test("no deadline moves", arguments: times)
    func deadlines(_ time: UInt64) throws {
        let store = try store()
        let songs = try store.repository("songs", options: RepositoryOptions())
        var options = TransactionOptions()
        options.timeoutMilliseconds = 60_000
        let entity = Array(#"{"id":"a"}"#.utf8)
        let receipt = try store.transact(options) { transaction throws(HoldfastError) in
            self.time.set(time)
            _ = try entity.withBytes { bytes throws(HoldfastError) in
                try songs.perform(WriteCall(.save, nil, bytes), in: transaction)
            }
        }
        #expect(receipt.attempts == 1)
        #expect(try store.close(timeoutMilliseconds: 60_000))
    }

    @Test("a store is opened, written and opened again at any time", arguments: times)
    func opening(_ time: UInt64) throws {
        let storage = MemoryStorage()
        let before = try store(on: storage)
        _ = try commit(
            #"{"id":"a"}"#, key: "k", in: before.repository("songs", options: RepositoryOptions()))
        #expect(try before.close(timeoutMilliseconds: nil))
        self.time.set(time)
        let after = try store(on: MemoryStorage(state: storage.state))
        let songs = try after.repository("songs", options: RepositoryOptions())
        // With a calendar that has gone on, the key has expired; either answer is one.
        _ = try commit(#"{"id":"a"}"#, key: "k", in: songs)
        #expect(try songs.count() == 1)
        #expect(try after.close(timeoutMilliseconds: nil))
    }

    @Test(
        "the system's clock is read whatever it shows",
        arguments: [
            (timespec(tv_sec: -1, tv_nsec: 999_999_999), 0), (timespec(tv_sec: .min, tv_nsec: 0), 0),
            (timespec(tv_sec: 0, tv_nsec: 999_999), 0), (timespec(tv_sec: 1, tv_nsec: 2_000_000), 1_002),
            // In nanoseconds, the year 2554 is the last that fits 64 bits.
            (timespec(tv_sec: 253_402_300_799, tv_nsec: 0), 253_402_300_799_000),
        ] as [(timespec, UInt64)])
    func reading(shown: timespec, milliseconds: UInt64) {
        #expect(SystemTime.milliseconds(shown) == milliseconds)
        #expect(SystemTime.milliseconds(timespec(tv_sec: .max, tv_nsec: 0)) <= UInt64(Int64.max))
    }
}
