import Foundation
import Holdfast
import Synchronization
import Testing

@Suite("An error's detail")
struct ErrorDetailTests {
    @Test("tells of what a call was given, under the names that it was given")
    func arguments() async throws {
        try await withSongs(.memory) { store, songs in
            try await songs.add(Song(id: "s1", title: "Gloria"))
            let option = await expectError(.invalidOption) {
                try await store.transaction(TransactionOptions(timeout: .seconds(-1))) {}
            }
            #expect(option?.detail.option == "timeout" && option?.detail.path == nil)
            #expect(option?.message.contains("\"timeout\"") == true && option?.message.contains("_ms") == false)
            for (options, name) in [
                (TransactionOptions(maxAttempts: 0), "maxAttempts"), (TransactionOptions(name: ""), "name"),
                (TransactionOptions(timeout: .seconds(86_401)), "timeout"),
            ] {
                let refusal = await expectError(.invalidOption) {
                    try await onThread { try store.blocking.transaction(options) {} }
                }
                #expect(refusal?.detail.option == name && refusal?.message.contains("\"\(name)\"") == true)
            }
            let opening = await expectError(.invalidOption) {
                _ = try await Store.open("memory:", StoreOptions(snapshotMaxAge: .seconds(-1)))
            }
            #expect(opening?.detail.option == "snapshotMaxAge")
            let filter = await expectError(.invalidQuery) {
                _ = try await songs.find(Filter(json: #"{"plays":{"$gte_":1}}"#))
            }
            #expect(filter?.detail.operator == "$gte_" && filter?.detail.path == "plays")
            #expect(filter?.detail.supported?.contains("$gte") == true)
            let update = await expectError(.invalidQuery) {
                _ = try await songs.modify(id: "s1", ["$psuh": ["title": 1]])
            }
            #expect(update?.detail.operator == "$psuh" && update?.detail.supported?.contains("$push") == true)
            let isGiven = Mutex(false)
            let line = await expectError(.invalidJSON) {
                try await store.importLines(into: "song") {
                    isGiven.withLock { isGiven in
                        defer { isGiven = true }
                        return isGiven ? nil : Data("{]".utf8)
                    }
                }
            }
            #expect(line?.detail.line == 1 && line?.detail.offset != nil && line?.detail.position == nil)
        }
    }

    @Test("names the entities, their versions, and which of those that were given together it is")
    func entities() async throws {
        try await withSongs(.memory) { store, songs in
            try await songs.add(Song(id: "s1", title: "Gloria"))
            let version = try await #require(songs.fetchVersioned(id: "s1")).version
            let mismatch = await expectError(.versionMismatch) {
                try await songs.update(Song(id: "s1", title: ""), expectedVersion: version + 1)
            }
            #expect(mismatch?.detail.expected == version + 1 && mismatch?.detail.actual == version)
            #expect(mismatch?.detail.repository == "song" && mismatch?.detail.id == "s1")
            let several = await expectError(.exists) {
                try await songs.addMany([Song(id: "s0", title: ""), Song(id: "s1", title: "")])
            }
            #expect(several?.detail.item == 1 && several?.detail.index == nil && several?.detail.id == "s1")
            let conflict = await expectError(.conflict) {
                try await store.transaction(TransactionOptions(maxAttempts: 2)) {
                    _ = try await songs.fetch(id: "s1")
                    try await inAnotherTask { try await songs.modify(id: "s1", .increment(\.plays, by: 1)) }
                    try await songs.save(Song(id: "s2", title: ""))
                }
            }
            #expect(conflict?.detail.ids == ["s1"] && conflict?.detail.attempts == 2)
            #expect((conflict?.detail.actual ?? 0) > (conflict?.detail.snapshot ?? .max))
        }
    }

    @Test("tells who has a store open")
    func holder() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/store.db"
            let store = try await Store.open(path)
            let busy = await expectError(.busy) { _ = try await Store.open(path) }
            let holder = try #require(busy?.detail.holder)
            #expect(holder.pid == ProcessInfo.processInfo.processIdentifier && !holder.program.isEmpty)
            #expect(abs(holder.since.timeIntervalSinceNow) < patience / .seconds(1))
            try await store.close()
        }
    }

    @Test("has its JSON beside it, and nothing where there is no object")
    func json() {
        let told = HoldfastError(.hostError, "", detail: .init(json: #"{"code":-7,"ids":["a",1],"mine":true}"#)).detail
        #expect(told.code == -7 && told.ids == ["a"] && told.json.contains("mine"))
        #expect(told.id == nil && told.holder == nil)
        for json in ["", "7", "{", #"{"code":"7","position":-1.5,"expected":-1}"#] {
            let detail = HoldfastError.Detail(json: json)
            #expect(detail.code == nil && detail.offset == nil && detail.expected == nil && detail.json == json)
        }
        #expect(HoldfastError(.conflict, "").detail == .init(json: "{}"))
    }
}
