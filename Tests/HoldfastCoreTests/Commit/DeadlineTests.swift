import HoldfastServices
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

@Suite("Deadlines of submitted commits")
struct DeadlineTests {
    private let storage = HookedStorage()
    private let store: Store
    private let things: Repository

    init() throws {
        store = try Store(url: "memory:", storage: storage, options: StoreOptions())
        things = try store.repository("things")
    }

    private func submit(_ id: String, timeout: UInt64, to other: Repository? = nil) throws -> Outcome {
        let things = other ?? things
        var options = TransactionOptions()
        options.timeoutMilliseconds = timeout
        let transaction = try things.store.begin(options)
        _ = try "{\"id\":\"\(id)\"}".withBytes { try things.perform(WriteCall(.save, nil, $0), in: transaction) }
        let outcome = Outcome()
        try transaction.submit(outcome)
        return outcome
    }

    /// Submits what the storage is about to hold: anew, where its time was over before it came there.
    private func submitHeld(_ id: String, timeout: UInt64) throws -> Outcome {
        var timeout = timeout
        while true {
            let outcome = try submit(id, timeout: timeout)
            while !outcome.isKnown && !storage.isHolding { outcome.waitAMoment() }
            if storage.isHolding { return outcome }
            timeout *= 2
        }
    }

    private func close() throws { #expect(try store.close(timeoutMilliseconds: nil)) }

    @Test func `are told while another program holds the storage's lock`() throws {
        storage.hold(.beginWrite)
        let first = try submitHeld("a", timeout: 30)
        let second = try submit("b", timeout: 60)
        first.wait()
        second.wait()
        #expect(storage.isHolding)
        #expect([first, second].map(\.status) == [.timeout, .timeout])
        storage.letGo()
        try close()
    }

    @Test func `are told while a batch is being stored, but not of what is in it`() throws {
        storage.hold(.apply)
        let stored = try submitHeld("a", timeout: 30)
        let late = try submit("b", timeout: 30)
        let patient = try submit("c", timeout: 0)
        late.wait()
        #expect(storage.isHolding)
        #expect(late.status == .timeout)
        #expect(!stored.isKnown && !patient.isKnown)
        storage.letGo()
        stored.wait()
        patient.wait()
        #expect(stored.status == nil && patient.status == nil)
        let isThere = try things.fetch(EntityID(unchecked: Array("b".utf8))) { _, _ in }
        #expect(!isThere)
        try close()
    }

    @Test func `are told while the store is compacted`() throws {
        storage.hold(.compact)
        let store = store
        let compacting = try ThreadWorkers().start(name: "compacting") {
            _ = try? store.compact()
            return .finished
        }
        storage.waitUntilHolding()
        let late = try submit("a", timeout: 30)
        late.wait()
        #expect(storage.isHolding)
        #expect(late.status == .timeout)
        storage.letGo()
        _ = compacting.waitUntilFinished(deadline: nil)
        try close()
    }

    @Test func `are told each at its own time, whatever the order in which they come`() throws {
        storage.hold(.apply)
        let stored = try submit("a", timeout: 0)
        storage.waitUntilHolding()
        let outcomes = try [60_000, 40, 20_000, 20, 60].enumerated().map { try submit("k\($0)", timeout: $1) }
        for number in [3, 1, 4] {
            outcomes[number].wait()
            #expect(outcomes[number].status == .timeout)
        }
        #expect(!outcomes[0].isKnown && !outcomes[2].isKnown)
        storage.letGo()
        stored.wait()
        outcomes[0].wait()
        #expect(outcomes[0].status == nil)
        try close()
    }

    @Test func `are told of a store that is closing`() throws {
        storage.hold(.apply)
        let stored = try submit("a", timeout: 0)
        storage.waitUntilHolding()
        let late = try submit("b", timeout: 30)
        let isClosed = try store.close(timeoutMilliseconds: 1)
        #expect(!isClosed)
        late.wait()
        #expect(late.status == .timeout)
        storage.letGo()
        stored.wait()
        try close()
    }

    @Test func `are told of a commit that its batch had no time for, whoever was told meanwhile`() throws {
        var environment = Environment.system
        environment.limits.batchTime = 1
        let store = try Store(
            url: "memory:", storage: storage, options: StoreOptions(), environment: environment)
        let things = try store.repository("things")
        func submit(_ id: String, timeout: UInt64) throws -> Outcome {
            try self.submit(id, timeout: timeout, to: things)
        }
        storage.hold(.apply)
        let first = try submit("a", timeout: 0)
        storage.waitUntilHolding()
        let second = try submit("b", timeout: 0)
        let givenBack = try submit("c", timeout: 500)
        storage.letGo(andHold: .apply)
        storage.waitUntilHolding()
        // While the batch of the second and the third is stored, the deadline of another one is watched.
        let late = try submit("d", timeout: 10)
        late.wait()
        // There is something to hold, also where the time of the third is over.
        let last = try submit("e", timeout: 0)
        storage.letGo(andHold: .beginWrite)
        storage.waitUntilHolding()
        givenBack.wait()
        #expect(storage.isHolding)
        #expect([first, second, late, givenBack].map(\.status) == [nil, nil, .timeout, .timeout])
        storage.letGo()
        last.wait()
        #expect(last.status == nil)
        #expect(try store.close(timeoutMilliseconds: nil))
        try close()
    }
}
