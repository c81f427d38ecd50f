import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery
@testable import HoldfastStorage

/// Reads an entity and writes it again, and so collides with whoever does the same.
private final class Counting: OperationFunction {
    private let things: Repository

    init(_ things: Repository) { self.things = things }

    func run(in transaction: Transaction) throws(HoldfastError) -> [UInt8] {
        _ = try things.fetch(EntityID(unchecked: Array("a".utf8)), in: transaction) { _, _ in }
        _ = try Array("{\"id\":\"a\"}".utf8).withBytes { entity throws(HoldfastError) in
            try things.perform(WriteCall(.save, nil, entity), in: transaction)
        }
        return []
    }
}

private final class End: FutureObserver {
    let arrival = Outcome.Signal()
    var isHost: Bool { false }
    func completed(_ completion: Completion) { arrival.give() }
}

@Suite("Who runs again after a conflict")
struct RetryQueueTests {
    @Test func `leaves the line when the run has ended`() throws {
        let store = try Store(url: "memory:", storage: HookedStorage(), options: StoreOptions())
        let things = try store.repository("things")
        for _ in 0..<20 {
            let ends = (0..<200).map { _ in End() }
            for end in ends {
                _ = try Operation(store, Counting(things)).start(observer: end)
                _ = try Array("{\"id\":\"a\"}".utf8).withBytes { try things.perform(WriteCall(.save, nil, $0)) }
            }
            for end in ends { #expect(end.arrival.comes()) }
            #expect(store.retries.isEmpty)
        }
        #expect(try store.close(timeoutMilliseconds: nil))
    }

    @Test func `stands in nobody's way who left before it was in line`() throws {
        let store = try Store(url: "memory:", storage: HookedStorage(), options: StoreOptions())
        let things = try store.repository("things")
        let contention = Contention(repository: things.record.id, id: EntityID(unchecked: Array("a".utf8)))
        let told = Lock([Int]())
        let tickets = (0..<2).map { number in
            RetryQueue.Ticket(contention) { _ in told.withLock { $0.append(number) } }
        }
        store.retries.leave(tickets[0])
        for ticket in tickets { store.retries.enter(ticket) }
        #expect(told.withLock { $0 } == [0, 1])
        #expect(!store.retries.isGranted(tickets[0]) && store.retries.isGranted(tickets[1]))
        store.retries.leave(tickets[1])
        #expect(store.retries.isEmpty)
        #expect(try store.close(timeoutMilliseconds: nil))
    }
}
