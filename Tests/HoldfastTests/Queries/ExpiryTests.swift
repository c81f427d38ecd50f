import Foundation
import Holdfast
import HoldfastTestSupport
import Testing

@Suite("An index with a time to live")
struct ExpiryTests {
    struct Session: Codable, Identifiable, Sendable {
        var id: String
        var seen: Int?
    }

    @Test("has entities deleted when their time has passed, and no others", arguments: Engine.allCases)
    func expiring(engine: Engine) async throws {
        try await withStore(engine) { store in
            // The store's calendar moves with the clock from the moment when that is set.
            let now = Int(Date().timeIntervalSince1970 * 1000)
            let clock = MockClock()
            try store.setClock(clock)
            let sessions = store.repository(of: Session.self)
            try await sessions.createIndex(.ascending(\.seen), expireAfter: .seconds(60))
            try await #expect(sessions.indexes().map(\.expireAfter) == [.seconds(60)])
            try await sessions.saveMany([
                Session(id: "old", seen: now - 61_000), Session(id: "timeless"), Session(id: "young", seen: now),
            ])
            try await expectLeft(["timeless", "young"], sessions)
            clock.advance(by: .seconds(61))
            try await expectLeft(["timeless"], sessions)
            await expectError(.invalidOption) {
                try await sessions.createIndex(.ascending(\.seen), expireAfter: .seconds(-1), name: "negative")
            }
        }
    }

    /// Waits until these are left.
    private func expectLeft(_ ids: [String], _ sessions: Repository<Session>) async throws {
        try await until("\(ids) are left") { (try? await sessions.fetchAll().map(\.id)) == ids }
    }
}
