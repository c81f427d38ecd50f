import Foundation
import Holdfast
import Testing

private struct Numbered: Codable, Identifiable, Sendable, Equatable {
    var id: Int64
    var text = ""
}

private struct Marked: Codable, Identifiable, Sendable, Equatable {
    var id: UUID?
    var text = ""
}

private struct TrackID: RawRepresentable, Codable, Hashable, EntityIdentifier {
    var rawValue: String
}

private struct Track: Codable, Identifiable, Sendable, Equatable {
    var id: TrackID
}

private struct Country: Codable, Identifiable, Sendable, Equatable {
    var code: String
    var id: String { code }
    enum CodingKeys: String, CodingKey { case code = "alpha_2" }
}

private struct Liar: Codable, Identifiable, Sendable {
    var name: String
    var id: String { "not " + name }
}

private struct Ordinal: Codable, Identifiable, Sendable {
    var id: Int?
}

@Suite("Ids")
struct IdentifierTests {
    @Test("may be integers", arguments: Engine.allCases)
    func integers(engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            let numbered = store.repository(of: Numbered.self)
            for id in [0, -1, 42, Int.max, Int.min] {
                try await accounts.save(Account(id: id, balance: 1))
                try await numbered.save(Numbered(id: Int64(id)))
                try await #expect(accounts.fetch(id: id) == Account(id: id, balance: 1))
                try await #expect(numbered.fetch(id: Int64(id)) == Numbered(id: Int64(id)))
            }
            try await #expect(accounts.count() == 5)
            try await accounts.deleteMany(ids: [0, -1])
            try await #expect(accounts.count() == 3)
        }
    }

    @Test("may be UUIDs, given or assigned", arguments: Engine.allCases)
    func uuids(engine: Engine) async throws {
        try await withStore(engine) { store in
            let marked = store.repository(of: Marked.self)
            let given = Marked(id: UUID(), text: "given")
            try await #expect(marked.save(given) == given)
            try await #expect(marked.fetch(id: given.id) == given)

            let assigned = try await marked.save(Marked(id: nil, text: "assigned"))
            let id = try #require(assigned.id)
            try await #expect(marked.fetch(id: id) == assigned)
            try await marked.update(Marked(id: id, text: "changed"))
            try await #expect(marked.fetchAll().map(\.text).sorted() == ["changed", "given"])
        }
    }

    @Test("are assigned to entities that come without, and told", arguments: Engine.allCases)
    func assigning(engine: Engine) async throws {
        try await withStore(engine) { store in
            let drafts = store.repository(of: Draft.self)
            let saved = try await drafts.save(Draft(text: "one"))
            let id = try #require(saved.id)
            #expect(UUID(uuidString: id) != nil)
            #expect(saved.text == "one")
            try await #expect(drafts.fetch(id: id) == saved)
            let added = try await drafts.addMany([Draft(text: "two"), Draft(id: "mine", text: "three")])
            #expect(added[0].id != nil && added[1].id == "mine")
            try await #expect(drafts.fetchAll().count == 3)
            try await store.transaction {
                let inside = try await drafts.add(Draft(text: "four"))
                try await #expect(drafts.fetch(id: inside.id) == inside)
            }
            await expectError(.invalidEntity) { try await drafts.update(Draft(text: "whose?")) }
            await expectError(.invalidID) { _ = try await drafts.fetch(id: nil) }
        }
    }

    @Test("are not assigned where their type cannot hold them")
    func unassignable() async throws {
        try await withStore(.memory) { store in
            let ordinals = store.repository(of: Ordinal.self)
            await expectError(.invalidEntity) { try await ordinals.save(Ordinal(id: nil)) }
            try await #expect(ordinals.count() == 0)
            try await ordinals.save(Ordinal(id: 7))
            try await #expect(ordinals.fetch(id: 7)?.id == 7)
        }
    }

    @Test("may be a type of the host's own", arguments: Engine.allCases)
    func ownTypes(engine: Engine) async throws {
        try await withStore(engine) { store in
            let tracks = store.repository(of: Track.self)
            let track = Track(id: TrackID(rawValue: "t/1"))
            try await tracks.save(track)
            try await #expect(tracks.fetch(id: TrackID(rawValue: "t/1")) == track)
        }
    }

    @Test("may stand under another key", arguments: Engine.allCases)
    func keys(engine: Engine) async throws {
        try await withStore(engine) { store in
            let countries = store.repository(of: Country.self, named: "countries", key: "alpha_2")
            try await countries.save(Country(code: "DE"))
            try await #expect(countries.fetch(id: "DE") == Country(code: "DE"))
        }
    }

    @Test("must be what the encoded entity says")
    func disagreement() async throws {
        try await withStore(.memory) { store in
            let liars = store.repository(of: Liar.self, key: "name")
            await expectError(.invalidEntity) { try await liars.save(Liar(name: "x")) }
            try await #expect(liars.count() == 0)
        }
    }

    @Test("of no bytes or too many are refused")
    func invalid() async throws {
        try await withSongs(.memory) { _, songs in
            await expectError(.invalidID) { _ = try await songs.fetch(id: "") }
            await expectError(.invalidID) {
                try await songs.save(Song(id: String(repeating: "x", count: 5000), title: ""))
            }
        }
    }
}
