import Foundation
import Holdfast
import Synchronization
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

/// In processes of their own, because a task that hangs under its lock cannot be got rid of otherwise.
///
/// Swift cancels a task under the task's lock, and whoever wakes it waits for that lock. A cancellation that waited for
/// whoever tells the task something would hang.
@Suite("Cancelling a task that follows a stream does not hang")
struct StreamCancellationTests {
    @Test("while events are told to its loops, again and again")
    func sequences() async {
        await #expect(processExitsWith: .success) {
            endUnlessDone("a task hangs")
            let store = try await Store.open("memory:")
            let songs = store.repository(of: Song.self)
            try await songs.open()
            let writer = Task {
                for number in 0... {
                    if Task.isCancelled { return }
                    try await songs.save(Song(id: "s\(number % 10)", title: "Title", plays: number))
                }
            }
            for _ in 0..<150 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<10 {
                        group.addTask { for try await _ in songs.observe() {} }
                        group.addTask { for try await _ in store.changes(of: songs) {} }
                        group.addTask { for try await _ in songs.observe().publisher.values {} }
                        group.addTask { for try await _ in store.changes(of: songs).publisher.values {} }
                    }
                    try await Task.sleep(for: .milliseconds(Int.random(in: 5...15)))
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
            writer.cancel()
            _ = await writer.result
            try await store.close()
        }
    }

    @Test("while a publisher hands over a value")
    func publisher() async {
        await #expect(processExitsWith: .success) {
            endUnlessDone("a task hangs")
            let store = try await Store.open("memory:")
            let songs = store.repository(of: Song.self)
            try await songs.open()
            let value = Waiter()
            let (arrivals, arrive) = AsyncStream<Void>.makeStream()
            let sink = songs.observe().publisher.sink(
                receiveCompletion: { _ in },
                receiveValue: { _ in
                    arrive.yield()
                    // Long enough for the cancellation to come before it goes on.
                    usleep(300_000)
                    value.wake()
                })
            let cancel = Cancellation(sink)
            let task = Task {
                await withTaskCancellationHandler {
                    await value.wait()
                } onCancel: {
                    cancel()
                }
            }
            for await _ in arrivals { break }
            // Lets the task line up before.
            try await Task.sleep(for: .milliseconds(50))
            task.cancel()
            await task.value
            try await store.close()
        }
    }
}

/// Where a task waits until it is woken, once.
private final class Waiter: Sendable {
    private let state = Mutex<(continuation: CheckedContinuation<Void, Never>?, isWoken: Bool)>((nil, false))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isWoken = state.withLock { state in
                state.continuation = continuation
                return state.isWoken
            }
            if isWoken { continuation.resume() }
        }
    }

    func wake() {
        let continuation = state.withLock { state in
            state.isWoken = true
            return state.continuation
        }
        continuation?.resume()
    }
}

/// A subscription that any thread may cancel.
private final class Cancellation: @unchecked Sendable {
    // Sendable: the library's subscriptions lock for themselves.
    private let cancellable: AnyCancellable

    init(_ cancellable: AnyCancellable) { self.cancellable = cancellable }

    func callAsFunction() { cancellable.cancel() }
}
