import Foundation
import Holdfast
import Synchronization
import Testing

/// In a row, because a process has one handler.
@Suite("The log", .serialized)
struct LogTests {
    @Test("tells what becomes of a store, until nobody is to hear it any more")
    func logging() async throws {
        let entries = Mutex<[LogEntry]>([])
        Store.setLogHandler { entry in entries.withLock { $0.append(entry) } }
        try await withDirectory { directory in
            func told() -> [LogEntry] { entries.withLock { $0.filter { $0.fields.contains("heard.db") } } }
            let store = try await Store.open("\(directory)/heard.db")
            let first = try #require(told().first)
            #expect(first.level == .info)
            #expect(first.message == "store opened")
            let fields = try JSONSerialization.jsonObject(with: Data(first.fields.utf8)) as? [String: Any]
            #expect(fields?["engine"] as? String == "sqlite")

            Store.setLogHandler(nil)
            let count = told().count
            try await store.close()
            #expect(told().count == count)
        }
    }

    @Test("tells of a commit that takes longer than it should, as a warning")
    func warning() async throws {
        let warnings = Mutex<[LogEntry]>([])
        let options = StoreOptions(slowCommit: .milliseconds(1))
        try await withDirectory { directory in
            let store = try await Store.open("\(directory)/slow.db", options)
            let songs = store.repository(of: Song.self)
            let many = (1...20_000).map { Song(id: "s\($0)", title: "Title") }
            Store.setLogHandler { entry in
                guard entry.level == .warning && entry.fields.contains("slow.db") else { return }
                warnings.withLock { $0.append(entry) }
            }
            defer { Store.setLogHandler(nil) }
            try await songs.saveMany(many)
            try await store.close()
            #expect(warnings.withLock { $0.contains { $0.fields.contains("milliseconds") } })
        }
    }
}
