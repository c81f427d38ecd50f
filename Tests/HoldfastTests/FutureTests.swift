import Foundation
import Holdfast
import HoldfastTestSupport
import Synchronization
import Testing

private struct Missing: Error, Equatable {}

private nonisolated(nonsending) func expectTimeOut(_ body: nonisolated(nonsending) () async throws -> Int) async {
    let error = await expectError(.timeout) { _ = try await body() }
    #expect(error?.detail.identifier == "zone")
}

@Suite("A future")
struct FutureTests {
    @Test("can be waited for again after a time-out, and after success, by threads and tasks at once")
    func waitingAgain() async throws {
        let pending = Holdfast.Future<Int, Missing>(identifier: "zone")
        await expectTimeOut {
            try await onThread { try pending.wait(timeout: .milliseconds(10)) }
        }
        await expectTimeOut {
            try await pending.value(timeout: .milliseconds(10))
        }
        async let first = onThread { try pending.wait() }
        async let second = onThread { try pending.wait(timeout: patience) }
        async let third = pending.value()
        try await Task.sleep(for: .milliseconds(20))
        #expect(pending.complete(.success(5)))
        let values = try await [first, second, third]
        #expect(values == [5, 5, 5])
        let again = try await onThread { try pending.wait(timeout: .zero) }
        #expect(again == 5)
    }

    @Test("goes on being waited for when another's wait has run out of time, or was cancelled")
    func waitsApart() async throws {
        let pending = Holdfast.Future<Int, Missing>(identifier: "zone")
        let patient = Task { try await pending.value() }
        let cancelled = Task { try await pending.value() }
        try await Task.sleep(for: .milliseconds(20))
        await expectTimeOut {
            try await pending.value(timeout: .milliseconds(10))
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(pending.complete(.success(5)))
        let value = try await patient.value
        #expect(value == 5)
    }

    @Test("is waited for as long as is said, and no longer, while the store's clock is set back")
    func clockSetBack() async throws {
        try await withStore(.memory) { store in
            let clock = MockClock()
            clock.advance(by: .seconds(100_000))
            try store.setClock(clock)
            let pending = Holdfast.Future<Int, Missing>(identifier: "zone")
            let setting = Task {
                while !Task.isCancelled {
                    clock.advance(by: .seconds(-60))
                    try await Task.sleep(for: .milliseconds(1))
                }
            }
            let began = ContinuousClock.now
            await expectTimeOut { try await onThread { try pending.wait(timeout: .milliseconds(50)) } }
            await expectTimeOut { try await pending.value(timeout: .milliseconds(50)) }
            #expect(ContinuousClock.now - began >= .milliseconds(100))
            let songs = store.repository(of: Song.self)
            for number in 0..<20 {
                try await store.transaction(.patient) { _ = try await songs.save(Song(id: "s\(number)", title: "")) }
            }
            async let value = pending.value(timeout: patience)
            #expect(pending.complete(.success(5)))
            try await #expect(value == 5)
            setting.cancel()
            _ = await setting.result
        }
    }

    @Test("is waited for through signals: not in vain, and no shorter")
    func signals() async throws {
        // It does nothing, and has system calls end early: without SA_RESTART.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR2, &action, nil)
        for completes in [false, true] {
            let pending = Holdfast.Future<Int, Missing>(identifier: "zone")
            let waiting = Mutex<pthread_t?>(nil)
            let hasWaited = Mutex(false)
            let isOver = Mutex(false)
            async let outcome = onThread { () -> (value: Int?, waited: Duration) in
                waiting.withLock { $0 = pthread_self() }
                let start = ContinuousClock.now
                let value = try? pending.wait(timeout: completes ? patience : .milliseconds(100))
                let waited = start.duration(to: .now)
                hasWaited.withLock { $0 = true }
                // Whoever signals needs a thread that is there.
                while !isOver.withLock({ $0 }) { usleep(500) }
                return (value, waited)
            }
            var count = 0
            while !hasWaited.withLock({ $0 }) {
                if let thread = waiting.withLock({ $0 }) {
                    pthread_kill(thread, SIGUSR2)
                    count += 1
                }
                if completes && count == 20 { pending.complete(.success(5)) }
                try await Task.sleep(for: .milliseconds(2))
            }
            isOver.withLock { $0 = true }
            let (value, waited) = try await outcome
            #expect(value == (completes ? 5 : nil))
            if !completes { #expect(waited >= .milliseconds(100)) }
        }
    }

    @Test("ends its waits when cancelled; cancelling after completion is too late")
    func cancelling() async throws {
        let pending = Holdfast.Future<Int, Missing>(identifier: "zone")
        let waiting = Task { try await onThread { try pending.wait() } }
        try await Task.sleep(for: .milliseconds(20))
        #expect(pending.cancel())
        #expect(!pending.complete(.success(1)))
        let error = await expectError(.cancelled) { _ = try await waiting.value }
        #expect(error?.detail.identifier == "zone")

        let completed = Holdfast.Future<Int, Missing>(identifier: "done")
        completed.complete(.success(1))
        #expect(!completed.cancel())
        let value = try await completed.value()
        #expect(value == 1)
    }
}
