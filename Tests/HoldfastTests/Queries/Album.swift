import Foundation
import Holdfast

/// An entity with a member of every sort that key paths meet: renamed, nested, optional, arrays, enumerations, dates.
struct Album: Codable, Identifiable, Sendable, Equatable {
    enum Genre: String, Codable, Sendable { case rock, soul, jazz }

    struct Label: Codable, Sendable, Equatable {
        var name: String
        var city: String?

        enum CodingKeys: String, CodingKey {
            case name
            case city = "town"
        }
    }

    struct Review: Codable, Sendable, Equatable {
        var author: String
        var stars: Int
        var replies: [Review]?
    }

    var id: String
    var title: String
    var year = 1965
    var plays: Int64 = 0
    var rating: Double?
    var isLive = false
    var isRare = false
    var genre = Genre.soul
    var released: Date?
    var label = Label(name: "Philips", city: "Baarn")
    var formerLabel: Label?
    var tags: [String] = []
    var scores: [Int]?
    var reviews: [Review] = []

    enum CodingKeys: String, CodingKey {
        case id, title, plays, rating, isRare, genre, released, label, formerLabel, tags, scores, reviews
        case year = "released_in"
        case isLive = "live"
    }
}

extension Album {
    /// Twelve albums, of ids "a00" to "a11".
    static let dozen: [Album] = (0..<12).map { numbered($0) }

    private static func numbered(_ number: Int) -> Album {
        var album = Album(id: number < 10 ? "a0\(number)" : "a\(number)", title: "Title \(number)")
        album.year = 1960 + number
        album.plays = Int64(number % 4)
        if number % 3 != 0 { album.rating = Double(number) / 2 }
        album.isLive = number % 2 == 0
        album.genre = [Genre.rock, .soul, .jazz][number % 3]
        album.released = Date(timeIntervalSince1970: Double(number) * 86_400)
        album.label = Label(name: number < 6 ? "Philips" : "RCA", city: number < 3 ? nil : "New York")
        if number == 5 { album.formerLabel = Label(name: "Colpix", city: "New York") }
        album.tags = number % 2 == 0 ? ["piano", "voice"] : ["voice"]
        if number > 0 { album.scores = [number, number * 10] }
        if number == 7 { album.reviews = [Review(author: "x", stars: 2), Review(author: "y", stars: 5)] }
        return album
    }
}

/// Runs `body` with a fresh store that holds the dozen.
nonisolated(nonsending) func withAlbums(
    _ engine: Engine, _ body: nonisolated(nonsending) (Repository<Album>) async throws -> Void
) async throws {
    try await withStore(engine) { store in
        let albums = store.repository(of: Album.self)
        try await albums.saveMany(Album.dozen)
        try await body(albums)
    }
}
