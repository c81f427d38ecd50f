import Foundation
import Holdfast
import Testing

@Suite("The maintenance of a store")
struct MaintenanceTests {
    /// Runs `body` with a store in a file, the path of its directory, and its repository of a thousand songs.
    private func withAThousandSongs(_ body: (Store, String, Repository<Song>) async throws -> Void) async throws {
        try await withDirectory { directory in
            let store = try await Store.open("\(directory)/store.db")
            let songs = store.repository(of: Song.self)
            try await songs.saveMany((0..<1000).map { Song(id: "s\($0)", title: "a title", plays: $0) })
            do { try await body(store, directory, songs) } catch {
                try? await store.close()
                throw error
            }
            try await store.close()
        }
    }

    @Test("backs up what is committed, tells how far it is, and restores it under a name of its own")
    func backup() async throws {
        try await withAThousandSongs { store, directory, songs in
            let heard = Heard()
            let report = try await store.backup(to: "\(directory)/copy", progress: heard.progress)
            #expect(report.path == "\(directory)/copy")
            #expect(heard.told.last?.0 == report.bytes)
            #expect(heard.told.last?.1 == report.bytes)
            await expectError(.exists) { try await store.backup(to: "\(directory)/copy") }
            try await songs.deleteAll()

            await expectError(.busy) {
                try await Store.restore("\(directory)/copy", to: "\(directory)/store.db", replacing: true)
            }
            try await Store.restore("\(directory)/copy", to: "\(directory)/new.db")
            await expectError(.exists) { try await Store.restore("\(directory)/copy", to: "\(directory)/new.db") }
            try await Store.restore("\(directory)/copy", to: "\(directory)/new.db", replacing: true)
            let restored = try await Store.open("\(directory)/new.db")
            try await #expect(restored.repository(of: Song.self).count() == 1000)
            try await restored.close()
            try Data("no store".utf8).write(to: URL(fileURLWithPath: "\(directory)/none"))
            await expectError(.notAStore) { try await Store.restore("\(directory)/none", to: "\(directory)/other.db") }
        }
    }

    @Test("leaves out what is damaged where it is stored, if that is asked for, and else says which it is")
    func damage() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/store.db"
            var store = try await Store.open(path)
            try await store.repository(of: Song.self).saveMany(
                (0..<3).map { Song(id: "s\($0)", title: "a title", plays: $0) })
            try await store.close()
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            shell.arguments = ["sqlite3", path, "UPDATE holdfast_entity SET body = '{' WHERE id = 's1'"]
            try shell.run()
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 0)

            store = try await Store.open(path)
            let songs = store.repository(of: Song.self)
            for read in [
                { _ = try await songs.find() }, { _ = try await songs.fetch(id: "s1") },
                { _ = try await songs.count() },
            ] as [() async throws -> Void] {
                let error = await #expect(throws: HoldfastError.self) { try await read() }
                #expect(error?.status == .corrupt)
                #expect(error?.detail.repository == "song" && error?.detail.id == "s1")
            }
            let sound = songs.skippingDamaged()
            try await #expect(sound.find().map(\.id) == ["s0", "s2"])
            try await #expect(sound.count() == 2)
            try await #expect(sound.exists(\.plays > 1))
            try await #expect(sound.distinct(\.plays) == [0, 2])
            try await store.close()
        }
    }

    @Test("gives a backup up for what its progress function throws, and leaves nothing behind")
    func givingUp() async throws {
        try await withAThousandSongs { store, directory, songs in
            await #expect(throws: Refusal.self) {
                try await store.backup(to: "\(directory)/copy") { _, _ in throw Refusal() }
            }
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await store.backup(to: "\(directory)/copy")
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).allSatisfy { !$0.contains("copy") })
            try await store.backup(to: "\(directory)/copy")
        }
    }

    @Test("gives a backup up when its task is cancelled in the middle of it")
    func cancelling() async throws {
        try await withAThousandSongs { store, directory, songs in
            let begun = Future<Void, Never>(identifier: "begun")
            let goOn = DispatchSemaphore(value: 0)
            let task = Task {
                try await store.backup(to: "\(directory)/copy") { _, _ in
                    begun.complete(.success(()))
                    goOn.wait()
                }
            }
            try await begun.value()
            task.cancel()
            // Once, or at each call.
            for _ in 0..<1000 { goOn.signal() }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/copy"))
        }
    }

    @Test("checks all that is stored, and compacts the file")
    func verifying() async throws {
        try await withAThousandSongs { store, directory, songs in
            try await songs.createIndex(.ascending(\.plays))
            let heard = Heard()
            let verification = try await store.verify(progress: heard.progress)
            #expect(verification.isOK)
            #expect(verification.problems == [])
            #expect(verification.repositories.map(\.name) == ["song"])
            #expect(verification.repositories[0].entities == 1000)
            #expect(verification.repositories[0].indexes.map(\.entries) == [1000])
            #expect(heard.told.last?.0 == 1000)
            #expect(heard.told.last?.1 == nil)
            try await songs.deleteAll()
            let report = try await store.compact()
            #expect(report.bytesAfter < report.bytesBefore)
        }
        try await withStore(.memory) { store in
            try await #expect(store.verify().isOK)
            await expectError(.unsupported) { try await store.compact() }
            await expectError(.unsupported) { try await store.backup(to: "/nowhere") }
        }
    }

    @Test("exports lines that another store imports, with indexes and versions", arguments: Engine.allCases)
    func exporting(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.saveMany((0..<1000).map { Song(id: "s\($0)", title: "a title", plays: $0) })
            try await songs.createIndex(.ascending(\.plays), name: "plays")
            try await store.repository(of: Account.self).save(Account(id: 1, balance: 5))
            let lines = Pieces()
            let report = try await store.exportLines { lines.add($0) }
            #expect(report.entities == 1001)
            #expect(lines.all.split(separator: UInt8(ascii: "\n")).count == 1003)

            try await withStore(.memory) { other in
                let heard = Heard()
                let stored = try await other.importLines(progress: heard.progress) { lines.take(1000) }
                #expect((stored.entities, stored.stored, stored.skipped) == (1001, 1001, 0))
                #expect(heard.told.last?.0 == 1001)
                let copies = other.repository(of: Song.self)
                try await #expect(copies.fetchAll() == songs.fetchAll())
                try await #expect(copies.fetchVersioned(id: "s7") == songs.fetchVersioned(id: "s7"))
                try await #expect(copies.indexes().map(\.name) == ["plays"])
                lines.rewind()
                await expectError(.exists) { try await other.importLines { lines.take(100_000) } }
                lines.rewind()
                let skipped = try await other.importLines(existing: .skip) { lines.take(100_000) }
                #expect(skipped.skipped == 1001)
            }
            let one = Pieces()
            try await store.exportLines(["account"]) { one.add($0) }
            #expect(one.all.split(separator: UInt8(ascii: "\n")).count == 3)
            await expectError(.notFound) { try await store.exportLines(["none"]) { one.add($0) } }
        }
    }

    @Test(
        "goes on with an export that was cut short, as long as nothing was committed since", arguments: Engine.allCases)
    func resumingExports(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.saveMany((0..<100).map { Song(id: "s\(100 + $0)", title: "", plays: $0) })
            let whole = Pieces()
            let sequence = try await store.exportLines { whole.add($0) }.sequence
            let lines = whole.all.split(separator: UInt8(ascii: "\n"))
            // The header, and the first forty entities.
            let kept = lines[...40].map { $0 + [UInt8(ascii: "\n")] }.reduce(Data(), +)
            let rest = Pieces()
            let position = ExportPosition(sequence: sequence, repository: "song", id: "s139")
            let report = try await store.exportLines(after: position) { rest.add($0) }
            #expect(report.sequence == sequence)
            // The end counts what was written before, too; the report, what this run has written.
            #expect(kept + rest.all == whole.all)
            #expect(report.entities == 60)
            var others = position
            others.repositories = ["album"]
            await expectError(.conflict) { [others] in try await store.exportLines(after: others) { _ in } }
            others.repositories = ["song"]
            others.incarnation = "another"
            await expectError(.conflict) { [others] in try await store.exportLines(after: others) { _ in } }
            await expectError(.invalidID) {
                try await store.exportLines(after: ExportPosition(sequence: sequence, repository: "song", id: "")) {
                    _ in
                }
            }
            try await songs.delete(id: "s100")
            await expectError(.conflict) { try await store.exportLines(after: position) { _ in } }
        }
    }

    @Test("passes on what the functions that write and read lines throw")
    func failingLines() async throws {
        try await withStore(.memory) { store in
            try await store.repository(of: Song.self).save(Song(id: "s1", title: ""))
            await #expect(throws: Refusal.self) { try await store.exportLines { _ in throw Refusal() } }
            await #expect(throws: Refusal.self) { try await store.importLines { throw Refusal() } }
            let bare = Pieces()
            bare.add(Data(#"{"id":"a","title":"x","plays":0}"#.utf8 + [10] + #"{"id":"b""#.utf8))
            let error = await expectError(.invalidJSON) {
                try await store.importLines(into: "song") { bare.take(5) }
            }
            #expect(error?.detail.line == 2)
            await expectError(.invalidOption) { try await store.importLines(resume: "") { nil } }
        }
    }

    @Test("imports the table of another database")
    func importingTables() async throws {
        try await withAThousandSongs { store, directory, songs in
            try await store.close()
            try await withStore(.memory) { other in
                let report = try await other.importTable("song", of: "\(directory)/store.db", into: "rows", id: "id")
                #expect(report.stored == 1000)
                await expectError(.notFound) { try await other.importTable("none", of: "\(directory)/store.db") }
            }
        }
    }
}

/// What a progress function was told.
private final class Heard: @unchecked Sendable {
    // Sendable: a lock guards it.
    private let lock = NSLock()
    private var pairs: [(Int, Int?)] = []
    var told: [(Int, Int?)] { lock.withLock { pairs } }
    var progress: WorkProgress { { done, total in self.lock.withLock { self.pairs.append((done, total)) } } }
}

/// Bytes that come and go in pieces.
private final class Pieces: @unchecked Sendable {
    // Sendable: a lock guards it.
    private let lock = NSLock()
    private var bytes = Data()
    private var next = 0
    var all: Data { lock.withLock { bytes } }
    func add(_ piece: Data) { lock.withLock { bytes += piece } }
    func rewind() { lock.withLock { next = 0 } }
    func take(_ count: Int) -> Data? {
        lock.withLock {
            let end = min(next + count, bytes.count)
            defer { next = end }
            return next == end ? nil : bytes[next..<end]
        }
    }
}
