// A package of its own that knows Holdfast by its product alone.
import Holdfast

struct Song: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var plays: Int
}

let store = try await Store.open(CommandLine.arguments[1])
let songs = store.repository(of: Song.self)
try await store.transaction {
    try await songs.save(Song(id: "s1", plays: 1))
    try await songs.patch(id: "s1", ["plays": 2])
}
guard try await songs.fetchAll() == [Song(id: "s1", plays: 2)] else { fatalError("the song is not there") }
do {
    try await songs.add(Song(id: "s1", plays: 3))
    fatalError("a song was added twice")
} catch let error as HoldfastError where error.status == .exists {
    print("refused as it should be: \(error.message)")
}
try await store.close()
print("a package outside works")
