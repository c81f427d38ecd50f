import Foundation
import HoldfastFamiliar
import Synchronization
import Testing

private struct Missing: Error, Equatable {}

/// Answers by a completion, on another thread.
private func find(
    _ result: Result<Int, Missing>, after seconds: Double = 0.01,
    completion: @escaping @Sendable (Result<Int, Missing>) -> Void
) {
    Thread.detachNewThread {
        Thread.sleep(forTimeInterval: seconds)
        completion(result)
    }
}

/// The wait that is given back because its time was up.
private nonisolated(nonsending) func timedOut(
    _ body: nonisolated(nonsending) () async throws -> Int
) async throws -> TimedOutWait {
    do {
        _ = try await body()
    } catch AwaitError.timeOut(let wait) {
        return wait
    }
    throw Missing()
}

@Suite("awaitResult")
struct AwaitResultTests {
    @Test("returns what the work succeeded with, and throws what it failed with, unchanged")
    func outcomes() async throws {
        let found = try await onThread {
            try awaitResult(timeout: patience) { done in find(.success(7)) { done($0) } }
        }
        #expect(found == 7)
        await #expect(throws: Missing()) {
            try await onThread { try awaitResult(timeout: patience) { done in find(.failure(Missing())) { done($0) } } }
        }
        let later = try await awaitResult(timeout: patience) { done in find(.success(8)) { done($0) } }
        #expect(later == 8)
        await #expect(throws: Missing()) {
            try await awaitResult(timeout: patience) { done in find(.failure(Missing())) { done($0) } }
        }
    }

    @Test("runs the block on the caller's thread, where it may complete at once")
    func synchronousCompletion() async throws {
        let isSame = try await onThread {
            let caller = Thread.current
            return try awaitResult { (done: AwaitCompletion<Bool, Missing>) in
                _ = done(.success(Thread.current === caller))
            }
        }
        #expect(isSame)
    }

    @Test("lets the first completion win, and tells later ones so")
    func firstWins() async throws {
        let answers = Mutex<[Bool]>([])
        let value = try await awaitResult { (done: AwaitCompletion<Int, Missing>) in
            let told = [done(.success(1)), done(.failure(Missing())), done(.success(2))]
            answers.withLock { $0 = told }
        }
        #expect(value == 1)
        #expect(answers.withLock { $0 } == [true, false, false])
    }

    @Test("keeps a failure that came first")
    func firstFailure() async throws {
        await #expect(throws: Missing()) {
            try await onThread {
                try awaitResult { (done: AwaitCompletion<Int, Missing>) in
                    done(.failure(Missing()))
                    done(.success(1))
                }
            }
        }
    }

    @Test("gives a wait back whose time was up, to be made again until the result is there")
    func waitingAgain() async throws {
        let late = Mutex<AwaitCompletion<Int, Missing>?>(nil)
        let first = try await timedOut {
            try await onThread {
                try awaitResult(identifier: "late", timeout: .milliseconds(10)) { done in late.withLock { $0 = done } }
            }
        }
        let second = try await timedOut { try await first.value(timeout: .milliseconds(10)) }
        let again = try await timedOut {
            try await onThread { try second.result(of: Int.self, timeout: .zero) }
        }
        #expect(again.identifier == "late" && again == first)
        #expect(late.withLock { $0 }?(.success(5)) == true)
        #expect(late.withLock { $0 }?(.success(6)) == false)
        for _ in 0..<2 {
            let value: Int = try await again.value()
            #expect(value == 5)
        }
        #expect(!again.cancel())
        let other = try await timedOut {
            try await awaitResult(timeout: .zero) { (done: AwaitCompletion<Int, Missing>) in late.withLock { $0 = done }
            }
        }
        late.withLock { $0 }?(.failure(Missing()))
        await #expect(throws: Missing()) { _ = try await other.value(of: Int.self) }
        let mistaken = await expectError(.invalidArgument) { _ = try await again.value(of: String.self) }
        #expect(mistaken?.message.contains("has succeeded with Int, not with String") == true)
    }

    @Test("tells a result that nobody can hear of any more so, where the wait was cancelled or let go of")
    func lateCompletions() async throws {
        let late = Mutex<AwaitCompletion<Int, Missing>?>(nil)
        let wait = try await timedOut {
            try await awaitResult(identifier: "late", timeout: .zero) { done in late.withLock { $0 = done } }
        }
        #expect(wait.cancel())
        #expect(late.withLock { $0 }?(.success(1)) == false)
        await #expect(throws: AwaitError.cancelled(identifier: "late")) { _ = try await wait.value(of: Int.self) }

        await #expect(throws: AwaitError.timeOut(identifier: "late")) {
            try await awaitResult(identifier: "late", timeout: .zero) { done in late.withLock { $0 = done } } as Int
        }
        #expect(late.withLock { $0 }?(.success(1)) == false)
    }

    @Test("returns every result whose completion was accepted, also when it comes as the time is up")
    func resultsAtTheLastMoment() async throws {
        for round in 0..<200 {
            let wasAccepted = Mutex(false)
            let ended = DispatchSemaphore(value: 0)
            let found = try await onThread { () -> Int? in
                defer { ended.wait() }
                do {
                    return try awaitResult(timeout: .milliseconds(2)) { (done: AwaitCompletion<Int, Missing>) in
                        let due = ContinuousClock.now + .microseconds(1_900 + round)
                        Thread.detachNewThread {
                            while ContinuousClock.now < due {}
                            let isAccepted = done(.success(round))
                            wasAccepted.withLock { $0 = isAccepted }
                            ended.signal()
                        }
                    }
                } catch AwaitError.timeOut(let wait) {
                    return wait.cancel() ? nil : try wait.result(timeout: .zero)
                }
            }
            #expect(wasAccepted.withLock { $0 } == (found != nil))
        }
    }

    @Test("names the caller's identifier when the time is up, counted from before the block")
    func timeOut() async throws {
        await #expect(throws: AwaitError.timeOut(identifier: "zone")) {
            try await onThread {
                try awaitResult(identifier: "zone", timeout: .milliseconds(30)) { (_: AwaitCompletion<Int, Missing>) in
                }
            }
        }
        await #expect(throws: AwaitError.timeOut(identifier: "zone")) {
            try await awaitResult(identifier: "zone", timeout: .milliseconds(30)) {
                (_: AwaitCompletion<Int, Missing>) in
            }
        }
        // The block uses up the time by itself.
        await #expect(throws: AwaitError.timeOut(identifier: "slow")) {
            try await onThread {
                try awaitResult(identifier: "slow", timeout: .milliseconds(20)) {
                    (_: AwaitCompletion<Int, Missing>) in Thread.sleep(forTimeInterval: 0.05)
                }
            }
        }
    }

    @Test("polls with no time, and still finds what is there")
    func polling() async throws {
        let value = try await onThread {
            try awaitResult(timeout: .zero) { (done: AwaitCompletion<Int, Missing>) in _ = done(.success(3)) }
        }
        #expect(value == 3)
        await #expect(throws: AwaitError.timeOut(identifier: "poll")) {
            try await onThread {
                try awaitResult(identifier: "poll", timeout: .zero) { (_: AwaitCompletion<Int, Missing>) in }
            }
        }
    }

    @Test("refuses to block a task's thread, before the block has run")
    func inATask() async throws {
        let hasRun = Mutex(false)
        func blocking() throws -> Int {
            try awaitResult(identifier: "zone") { (done: AwaitCompletion<Int, Missing>) in
                hasRun.withLock { $0 = true }
                done(.success(1))
            }
        }
        #expect(throws: AwaitError.wouldDeadlock(identifier: "zone")) { try blocking() }
        #expect(!hasRun.withLock { $0 })
    }

    @Test("refuses to block the library's own threads")
    func onTheLibrarysThread() async throws {
        let transaction = AnyTransaction<Int> {
            try awaitResult(identifier: "zone") { (done: AwaitCompletion<Int, Missing>) in _ = done(.success(1)) }
        }
        await #expect(throws: AwaitError.wouldDeadlock(identifier: "zone")) { try await transaction.performAsync() }
    }

    @Test("in a task ends with its cancellation, and does not start when it was cancelled before")
    func cancellation() async throws {
        let task = Task {
            try await awaitResult(timeout: nil) { (_: AwaitCompletion<Int, Missing>) in }
        }
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }

        let hasRun = Mutex(false)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await awaitResult { (_: AwaitCompletion<Int, Missing>) in hasRun.withLock { $0 = true } }
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(!hasRun.withLock { $0 })
    }

    @Test("inside one another, a thousand deep, comes out of all of them")
    func nested() async throws {
        @Sendable func deep(_ depth: Int) throws -> Int {
            if depth == 0 { return 0 }
            return try awaitResult(timeout: patience) { (done: AwaitCompletion<Int, any Error>) in
                done(Result { try deep(depth - 1) + 1 })
            }
        }
        let onThread = Holdfast.Future<Int, any Error>(identifier: "a thread with a deep stack")
        let thread = Thread { onThread.complete(Result { try deep(1000) }) }
        thread.stackSize = 64 << 20
        thread.start()
        try await #expect(onThread.value() == 1000)

        @Sendable func deepInTasks(_ depth: Int) async throws -> Int {
            if depth == 0 { return 0 }
            return try await awaitResult(timeout: patience) { (done: AwaitCompletion<Int, any Error>) in
                Task {
                    do { done(.success(try await deepInTasks(depth - 1) + 1)) } catch { done(.failure(error)) }
                }
            }
        }
        try await #expect(deepInTasks(1000) == 1000)
    }

    @Test("a thousand times at once, in tasks and on threads, exhausts nothing")
    func thousand() async throws {
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let all = (0..<2).map { _ in number }
                    let first = try await awaitResult(timeout: patience) { (done: AwaitCompletion<Int, Missing>) in
                        Task { done(.success(all[0])) }
                    }
                    guard number < 100 else { return first }
                    return try await onThread {
                        try awaitResult(timeout: patience) { (done: AwaitCompletion<Int, Missing>) in
                            Task { done(.success(all[1])) }
                        }
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 499_500)
    }
}
