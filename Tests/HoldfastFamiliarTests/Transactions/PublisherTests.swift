import Foundation
import HoldfastFamiliar
import Synchronization
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

@Suite("A transaction's publisher")
struct PublisherTests {
    @Test("is cold: each subscription runs the transaction, and gets one value, then the end")
    func eachRunsAgain() async throws {
        let runs = Mutex(0)
        let publisher = AnyTransaction { runs.withLock { $0 += 1 } }.publisher
        #expect(runs.withLock { $0 } == 0)
        for run in 1...2 {
            let subscriber = Recorder<Void>(.unlimited)
            publisher.subscribe(subscriber)
            await subscriber.end()
            #expect(subscriber.events == ["value ()", "finished"])
            #expect(runs.withLock { $0 } == run)
        }
    }

    @Test("tells in an actor's isolation where that is wanted, so that closures of the main actor are called there")
    @MainActor
    func inAnActor() async throws {
        var values: [Int] = []
        var isEnded = false
        let publisher = AnyTransaction { 7 }.publisher
        for _ in 1...100 {
            isEnded = false
            let subscription = publisher.receive(on: MainActor.shared).sink(
                receiveCompletion: { _ in
                    MainActor.assertIsolated()
                    isEnded = true
                },
                receiveValue: {
                    MainActor.assertIsolated()
                    values.append($0)
                })
            while !isEnded { await Task.yield() }
            subscription.cancel()
        }
        #expect(values == Array(repeating: 7, count: 100))

        try await withSongs(.memory) { _, songs in
            var counts: [Int] = []
            let subscription = songs.observe().publisher.receive(on: MainActor.shared).sink(
                receiveCompletion: { _ in }, receiveValue: { counts.append($0.elements.count) })
            while counts.isEmpty { await Task.yield() }
            for number in 1...20 {
                try await songs.save(Song(id: "\(number)", title: ""))
                while counts.last != number { await Task.yield() }
            }
            #expect(counts == counts.sorted())
            subscription.cancel()
            try await songs.save(Song(id: "unheard", title: ""))
            try await songs.deleteAll()
            #expect(counts.last == 20)
        }
    }

    @Test("runs nothing and blocks nobody until a value is asked for, and gives one however many are")
    func demand() async throws {
        let runs = Mutex(0)
        let transaction = AnyTransaction {
            runs.withLock {
                $0 += 1
                return $0
            }
        }
        let subscriber = Recorder<Int>(nil)
        transaction.publisher.subscribe(subscriber)
        try await Task.sleep(for: .milliseconds(20))
        #expect(runs.withLock { $0 } == 0)
        subscriber.request(.max(1))
        subscriber.request(.max(3))
        await subscriber.end()
        subscriber.request(.unlimited)
        try await Task.sleep(for: .milliseconds(20))
        #expect(subscriber.events == ["value 1", "finished"])
    }

    @Test("passes a repository's error unchanged and wraps another with its cause, and ends with it")
    func failures() async throws {
        let missing = HoldfastError(.notFound, "no such song")
        for (thrown, expected) in [
            (RepositoryError.queryError(missing) as any Error, RepositoryError.queryError(missing)),
            (missing, .nonExistingData(missing)), (Refusal(), .unknownError(Refusal())),
        ] {
            let subscriber = Recorder<Int>(.unlimited)
            TransactionPublisher { throw thrown }.subscribe(subscriber)
            await subscriber.end()
            #expect(subscriber.events == ["failure"])
            #expect(subscriber.failure == expected)
        }
    }

    @Test("runs nothing for who cancels before it asks, and says nothing to who cancels while it runs")
    func cancelling() async throws {
        let runs = Mutex(0)
        let before = Recorder<Void>(nil)
        AnyTransaction { runs.withLock { $0 += 1 } }.publisher.subscribe(before)
        before.cancel()
        before.request(.unlimited)

        let (begun, begin) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        let during = Recorder<Void>(.unlimited)
        AnyTransaction {
            begin.yield()
            gate.wait()
            runs.withLock { $0 += 1 }
            end.yield()
        }.publisher.subscribe(during)
        for await _ in begun { break }
        during.cancel()
        gate.signal()
        for await _ in ended { break }
        try await Task.sleep(for: .milliseconds(20))
        #expect(runs.withLock { $0 } == 1)
        #expect(before.events.isEmpty)
        #expect(during.events.isEmpty)
    }

    @Test("says nothing more to who cancels when the value comes")
    func cancellingAtTheValue() async throws {
        let subscriber = Recorder<Int>(.unlimited, cancelsAtValue: true)
        AnyTransaction { 7 }.publisher.subscribe(subscriber)
        while subscriber.events.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        try await Task.sleep(for: .milliseconds(20))
        #expect(subscriber.events == ["value 7"])
    }

    @Test("works with the operators of Combine, and as an asynchronous sequence")
    func operators() async throws {
        let transaction = AnyTransaction { 7 }
        let doubled = transaction.publisher.map { $0 * 2 }
        var values: [Int] = []
        for try await value in doubled.values { values.append(value) }
        #expect(values == [14])
        await #expect(throws: RepositoryError.unknownError(Refusal())) {
            let refused = AnyTransaction<Int> { throw Refusal() }
            for try await _ in refused.publisher.values {}
        }
    }

    @Test("of a repository's fails with the repository's own error")
    func ofRepository() async throws {
        try await withStore(.memory) { store in
            let add: AnyTransaction<Song> = StoreRepository<Song>(store).add(Song(id: "s1", title: "Gloria"))
            for try await song in add.publisher.values { #expect(song.title == "Gloria") }
            let subscriber = Recorder<Song>(.unlimited)
            add.publisher.subscribe(subscriber)
            await subscriber.end()
            #expect(subscriber.failure?.description.hasPrefix("duplicatedData: ") == true)
        }
    }

    @Test("joins the transaction in which it is subscribed to")
    func inTransaction() async throws {
        let store = try await Store.open("memory:")
        let songs = store.repository(of: Song.self)
        let save = AnyTransaction(
            transactionClosure: {}, asyncTransactionClosure: { try await songs.save(Song(id: "s1", title: "Gloria")) })
        await #expect(throws: Refusal()) {
            try await store.transaction {
                for try await _ in save.publisher.values {}
                throw Refusal()
            }
        }
        let song = try await songs.fetch(id: "s1")
        #expect(song == nil)
        try await store.close()
    }
}

@Suite("A repository's error")
struct RepositoryErrorTests {
    @Test("is equal when kind and what it carries are")
    func equality() {
        let one = HoldfastError(.exists, "s1 is there already")
        let other = HoldfastError(.exists, "s2 is there already")
        #expect(RepositoryError(one) == .duplicatedData(one))
        #expect(RepositoryError(one) != .duplicatedData(other))
        #expect(RepositoryError(one) != .queryError(one))
        #expect(RepositoryError.unknownError(Refusal()) == .unknownError(Refusal()))
        #expect(RepositoryError.unknownError(Refusal()) != .unknownError(CancellationError()))
    }

    @Test("has a kind for each status, and can be matched by it")
    func kinds() throws {
        let kinds: [(Status, String)] = [
            (.notFound, "nonExistingData"), (.exists, "duplicatedData"), (.uniqueViolation, "duplicatedData"),
            (.invalidEntity, "serializationError"), (.corrupt, "entityInitializationError"),
            (.invalidQuery, "queryError"), (.conflict, "transactionError"),
        ]
        for (status, kind) in kinds {
            #expect(RepositoryError(HoldfastError(status, "it")).description == "\(kind): \(status): it")
        }
        do {
            throw RepositoryError(HoldfastError(.notFound, "no such song"))
        } catch RepositoryError.nonExistingData {
        }
    }
}

/// Notes what it is told.
private final class Recorder<Input>: Subscriber, Sendable {
    typealias Failure = RepositoryError

    private struct State: ~Copyable {
        var subscription: (any Subscription)?
        var events: [String] = []
        var failure: RepositoryError?
        var end: CheckedContinuation<Void, Never>?
        var hasEnded = false
    }

    private let demand: Subscribers.Demand?
    private let cancelsAtValue: Bool
    // The mutex would want a subscription that is Sendable.
    private let lock = NSLock()
    nonisolated(unsafe) private var state = State()

    init(_ demand: Subscribers.Demand?, cancelsAtValue: Bool = false) {
        self.demand = demand
        self.cancelsAtValue = cancelsAtValue
    }

    var events: [String] { lock.withLock { state.events } }
    var failure: RepositoryError? { lock.withLock { state.failure } }

    func request(_ demand: Subscribers.Demand) { lock.withLock { state.subscription }?.request(demand) }
    func cancel() { lock.withLock { state.subscription }?.cancel() }

    /// Waits for the terminal event.
    func end() async {
        await withCheckedContinuation { continuation in
            let hasEnded = lock.withLock {
                state.end = continuation
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    func receive(subscription: any Subscription) {
        lock.withLock { state.subscription = subscription }
        if let demand { subscription.request(demand) }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        lock.withLock { state.events.append("value \(input)") }
        if cancelsAtValue { cancel() }
        return .none
    }

    func receive(completion: Subscribers.Completion<RepositoryError>) {
        let waiting = lock.withLock {
            switch completion {
            case .finished: state.events.append("finished")
            case .failure(let error):
                state.events.append("failure")
                state.failure = error
            }
            defer { state.hasEnded = true }
            return state.hasEnded ? nil : state.end
        }
        waiting?.resume()
    }
}
