import Foundation
import Holdfast
import Testing

/// How long something may take that is going to happen: longer than any machine is busy, so that only what hangs takes longer.
let patience = Duration.seconds(600)

extension TransactionOptions {
    /// Runs again as often, and waits as long, as it takes.
    static var patient: TransactionOptions {
        TransactionOptions(timeout: patience, maxAttempts: 1000)
    }
}

extension StoreOptions {
    /// No commit waits for the disk.
    static var relaxed: StoreOptions {
        StoreOptions(durability: .relaxed)
    }
}

/// Every engine passes the same tests.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, sqlite

    var testDescription: String { rawValue }
}

/// Runs `body` with a fresh store, and closes it.
nonisolated(nonsending) func withStore(
    _ engine: Engine, _ options: StoreOptions = .init(), _ body: nonisolated(nonsending) (Store) async throws -> Void
) async throws {
    try await withDirectory { directory in
        let store = try await Store.open(engine == .memory ? "memory:" : "\(directory)/store.db", options)
        do {
            try await body(store)
        } catch {
            try? await store.close()
            throw error
        }
        try await store.close()
    }
}

/// The same, with its repository of songs.
nonisolated(nonsending) func withSongs(
    _ engine: Engine, _ options: StoreOptions = .init(),
    _ body: nonisolated(nonsending) (Store, Repository<Song>) async throws -> Void
) async throws {
    try await withStore(engine, options) { store in
        try await body(store, store.repository(of: Song.self))
    }
}

/// The same, with its repository of accounts.
nonisolated(nonsending) func withAccounts(
    _ engine: Engine, _ body: nonisolated(nonsending) (Store, Repository<Account>) async throws -> Void
) async throws {
    try await withStore(engine) { store in
        try await body(store, store.repository(of: Account.self))
    }
}

/// Runs `body` with the path of a directory of its own.
nonisolated(nonsending) func withDirectory(_ body: nonisolated(nonsending) (String) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory.path)
}

/// Runs `body` on a thread of its own, as blocking calls need.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Ends this process, a test's own, if it hangs.
func endUnlessDone(_ reason: String) {
    Thread.detachNewThread {
        Thread.sleep(forTimeInterval: patience / .seconds(1))
        fatalError(reason)
    }
}

/// Waits until something is so.
nonisolated(nonsending) func until(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ isSo: nonisolated(nonsending) () async -> Bool
) async throws {
    let deadline = ContinuousClock.now + patience
    while await !isSo() {
        guard ContinuousClock.now < deadline else {
            Issue.record("still not so: \(what)", sourceLocation: sourceLocation)
            throw CancellationError()
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Runs `body` in a task that is in no transaction.
@discardableResult
func inAnotherTask<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await Task.detached { try await body() }.value
}

/// Expects an error of this status, and answers it.
@discardableResult
nonisolated(nonsending) func expectError(
    _ status: Status, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: nonisolated(nonsending) () async throws -> Void
) async -> HoldfastError? {
    do {
        try await body()
        Issue.record("nothing was thrown, not \(status)", sourceLocation: sourceLocation)
    } catch let error as HoldfastError {
        #expect(error.status == status, "\(error)", sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("\(error), not \(status)", sourceLocation: sourceLocation)
    }
    return nil
}

/// The same of what is not asynchronous.
func expectRefusal(
    _ status: Status, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
    let error = #expect(throws: HoldfastError.self, sourceLocation: sourceLocation, performing: body)
    if let error { #expect(error.status == status, "\(error)", sourceLocation: sourceLocation) }
}

struct Song: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var title: String
    var plays = 0
    var note: String?
}

struct Draft: Codable, Identifiable, Sendable, Equatable {
    var id: String?
    var text: String
}

struct Account: Codable, Identifiable, Sendable, Equatable {
    var id: Int
    var balance: Int
}

/// An error of the test's own.
struct Refusal: Error, Equatable {}
