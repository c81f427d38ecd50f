import Foundation
import Synchronization
import Testing

@testable import Holdfast

/// In processes of their own, because they speak of all threads of one.
@Suite("Threads")
struct ThreadTests {
    @Test("of Swift's pool are never made to wait: with a pool of one, everything goes on")
    func poolOfOne() async {
        await #expect(processExitsWith: .success) {
            try await takeAllThreadsButOne()
            try await withDirectory { directory in
                let path = "\(directory)/store.db"
                var options = StoreOptions.relaxed
                options.maxInFlight = 1
                let store = try await Store.open(path, options)
                let songs = store.repository(of: Song.self)
                let accounts = store.repository(of: Account.self)
                try await accounts.save(Account(id: 1, balance: 0))

                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<100 {
                        group.addTask { try await songs.save(Song(id: "s\(number)", title: "")) }
                        group.addTask { _ = try await songs.fetchAll() }
                        group.addTask {
                            let options = TransactionOptions(maxAttempts: 1000)
                            try await store.transaction(options) {
                                let balance = try await accounts.fetch(id: 1)!.balance
                                try await accounts.save(Account(id: 1, balance: balance + 1))
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let balance = try await accounts.fetch(id: 1)?.balance
                precondition(balance == 100)
                try await store.close()
            }
        }
    }

    @Test("of Swift's pool do not wait for a read in progress when its transaction is committed")
    func commitBesideRead() async {
        await #expect(processExitsWith: .success) {
            try await takeAllThreadsButOne()
            let library = SlowLibrary()
            let store = try await Store.open(provider: library)
            let songs = store.repository(of: Song.self)
            let transaction = try store.begin()
            try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
            let reader = Task { try await transaction.joined { try await songs.fetchAll() } }
            for await _ in library.reading.stream { break }
            let committer = Task { try await transaction.commit() }
            // Runs when the committer's task lets go of the thread.
            await Task { _ = library.goOn.continuation.yield() }.value
            let (count, changes) = try await (reader.value.count, committer.value.changes.count)
            precondition(count == 1 && changes == 1)
            try await store.close()
        }
    }

    @Test("of a store end when nobody refers to it any more, closed or not")
    func unclosedStores() async {
        await #expect(processExitsWith: .success) {
            try await withDirectory { directory in
                for number in 0..<20 {
                    let store = try await Store.open(number < 10 ? "memory:" : "\(directory)/\(number).db")
                    let songs = store.repository(of: Song.self)
                    try await songs.save(Song(id: "s1", title: ""))
                    try await store.transaction { _ = try await songs.fetch(id: "s1") }
                }
                let end = ContinuousClock.now + patience
                while threadNames().contains(where: { $0.hasPrefix("hf-") }) {
                    precondition(ContinuousClock.now < end, "\(threadNames())")
                    try await Task.sleep(for: .milliseconds(20))
                }
                // What they acknowledged is there, and so is the file for the next.
                let store = try await Store.open("\(directory)/19.db")
                let count = try await store.repository(of: Song.self).count()
                precondition(count == 1)
                try await store.close()
            }
        }
    }
}

/// All threads of the pool but one are taken for good, for as long as the test may take.
private func takeAllThreadsButOne() async throws {
    endUnlessDone("nothing goes on")
    let taken = RunningCount()
    let others = ProcessInfo.processInfo.activeProcessorCount - 1
    for _ in 0..<others {
        Task.detached {
            taken.begin()
            while true { sleep(100) }
        }
    }
    while taken.most < others { try await Task.sleep(for: .milliseconds(1)) }
    // One is left: of tasks that hold on to theirs, only one runs at a time.
    let count = RunningCount()
    await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { count.hold() } }
    }
    precondition(count.most == 1)
}

/// Tells when it is asked for everything, and waits.
private struct SlowLibrary: StorageProvider {
    let reading = AsyncStream<Void>.makeStream()
    let goOn = AsyncStream<Void>.makeStream()

    func save(_ song: Song) {}
    func fetchAll() async -> [Song] {
        reading.continuation.yield()
        for await _ in goOn.stream { break }
        return []
    }
    func fetch(id: String) -> Song? { nil }
    func delete(id: String) {}
}

/// How many tasks held on to their thread at once, at most.
private final class RunningCount: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func begin() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

    func hold() {
        begin()
        usleep(50_000)
        state.withLock { $0.now -= 1 }
    }
}

/// The names of this process's threads.
private func threadNames() -> [String] {
    let tasks = "/proc/self/task"
    return ((try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []).compactMap {
        (try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8))?
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
