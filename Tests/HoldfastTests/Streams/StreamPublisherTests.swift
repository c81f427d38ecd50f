import Foundation
import Holdfast
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

@Suite("A live query's publisher", .timeLimit(.minutes(20)))
struct StreamPublisherTests {
    @Test("tells each subscriber the result and its changes, and who cancels nothing more")
    func subscribers() async throws {
        try await withSongs(.memory) { _, songs in
            let publisher = songs.observe().publisher
            let one = Listener(publisher, .unlimited)
            let other = Listener(publisher, .unlimited)
            try await until("both have the first result") { one.values.count == 1 && other.values.count == 1 }
            other.cancel()
            try await songs.save(Song(id: "s1", title: "Gloria"))
            try await until("one has the second") { one.values.count == 2 }
            #expect(one.values.map { $0.elements.map(\.id) } == [[], ["s1"]])
            #expect(other.values.count == 1)
            one.cancel()
        }
    }

    @Test("does nothing before a value is asked for, and brings together what is not asked for")
    func demand() async throws {
        try await withSongs(.memory) { _, songs in
            let subscriber = Listener(songs.observe().publisher, .none)
            try await songs.save(Song(id: "s0", title: "Gloria"))
            subscriber.request(.max(1))
            try await until("the first result is there") { subscriber.values.count == 1 }
            #expect(subscriber.values[0].elements.count == 1)
            for number in 1...100 { try await songs.save(Song(id: "s\(number)", title: "Title")) }
            var asked = 1
            while subscriber.values.last?.elements.count != 101 {
                asked += 1
                subscriber.request(.max(1))
                try await until("it was answered") { subscriber.values.count == asked }
            }
            #expect(asked < 100)
            #expect(subscriber.values.map(\.mergedCommits).reduce(0, +) == 100)
            subscriber.cancel()
        }
    }

    @Test("says nothing more to who cancels when a value comes")
    func cancellingAtAValue() async throws {
        try await withSongs(.memory) { _, songs in
            let subscriber = Listener(songs.observe().publisher, .unlimited, cancelsAtValue: true)
            try await until("the first result is there") { subscriber.values.count == 1 }
            try await songs.save(Song(id: "s1", title: "Gloria"))
            try await Task.sleep(for: .milliseconds(50))
            #expect(subscriber.values.count == 1)
            #expect(subscriber.completion == nil)
        }
    }

    @Test("tells nothing after cancelling, but what another thread is telling just then, however much is going on")
    func cancellingWhileTelling() async throws {
        try await withSongs(.memory) { _, songs in
            let writer = Task {
                var number = 0
                while !Task.isCancelled {
                    try await songs.save(Song(id: "s\(number % 10)", title: "Title", plays: number))
                    number += 1
                }
            }
            for _ in 0..<100 {
                let subscriber = Listener(songs.observe().publisher, .unlimited)
                try await until("it hears") { subscriber.values.count > 1 }
                subscriber.cancel()
                let count = subscriber.values.count
                try await Task.sleep(for: .milliseconds(2))
                #expect(subscriber.values.count <= count + 1)
            }
            writer.cancel()
            _ = await writer.result
        }
    }

    @Test("may be cancelled again by a subscriber that ends with its subscription")
    func subscriberThatEnds() async throws {
        try await withStore(.memory) { store in
            let publisher = store.repository(of: Song.self).observe().publisher
            var held: (any Subscription)?
            publisher.subscribe(EndingSubscriber { held = $0 })
            let subscription = try #require(held)
            subscription.cancel()
            subscription.request(.unlimited)
        }
    }

    @Test("fails when the store closes, and for what no query can be")
    func failures() async throws {
        let store = try await Store.open("memory:")
        let songs = store.repository(of: Song.self)
        let subscriber = Listener(songs.observe().publisher, .unlimited)
        let refused = Listener(songs.observe(["plays": ["$least": 1]]).publisher, .unlimited)
        try await until("the first result is there") { subscriber.values.count == 1 }
        try await store.close()
        try await until("both have ended") { subscriber.completion != nil && refused.completion != nil }
        #expect(subscriber.completion == .closed)
        #expect(refused.completion == .invalidQuery)
    }
}

/// A subscriber that notes what it is told.
private final class Listener<Input>: Subscriber, @unchecked Sendable {
    // Sendable: what changes is behind the lock.
    typealias Failure = HoldfastError

    private let lock = NSLock()
    private let demand: Subscribers.Demand
    private let cancelsAtValue: Bool
    private var subscription: (any Subscription)?
    private var noted: [Input] = []
    private var failed: Status?

    init(
        _ publisher: some Publisher<Input, HoldfastError>, _ demand: Subscribers.Demand, cancelsAtValue: Bool = false
    ) {
        self.demand = demand
        self.cancelsAtValue = cancelsAtValue
        publisher.subscribe(self)
    }

    var values: [Input] { lock.withLock { noted } }
    var completion: Status? { lock.withLock { failed } }

    func request(_ demand: Subscribers.Demand) { lock.withLock { subscription }?.request(demand) }
    func cancel() { lock.withLock { subscription }?.cancel() }

    func receive(subscription: any Subscription) {
        lock.withLock { self.subscription = subscription }
        subscription.request(demand)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        lock.withLock { noted.append(input) }
        if cancelsAtValue { cancel() }
        return .none
    }

    func receive(completion: Subscribers.Completion<HoldfastError>) {
        if case .failure(let error) = completion { lock.withLock { failed = error.status } }
    }
}

/// A subscriber that cancels as it goes, and is held by its subscription alone.
private final class EndingSubscriber: Subscriber {
    typealias Input = LiveResult<Song>
    typealias Failure = HoldfastError

    private let subscribed: (any Subscription) -> Void
    private weak var subscription: AnyObject?

    init(_ subscribed: @escaping (any Subscription) -> Void) { self.subscribed = subscribed }

    deinit { (subscription as? any Subscription)?.cancel() }

    func receive(subscription: any Subscription) {
        self.subscription = subscription as AnyObject
        subscribed(subscription)
    }

    func receive(_ input: Input) -> Subscribers.Demand { .none }
    func receive(completion: Subscribers.Completion<Failure>) {}
}
