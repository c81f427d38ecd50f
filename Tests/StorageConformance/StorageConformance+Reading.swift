import HoldfastCore
import HoldfastEnvironment
import HoldfastStorage

extension StorageConformance {
    /// Ids in the order of their bytes, which is the order of no alphabet.
    private static let orderedIDs = [
        "\u{0}", "\u{0}\u{0}", " ", "'", "10", "9", "A", "B", "a", "a\u{0}b", "aa", "a\u{301}", "b", "z", "\u{7f}",
        "\u{e1}", "\u{65e5}", "\u{ffff}", "\u{1d11e}",
    ]

    static let reading: [Check] = [
        Check("ids and texts come back byte for byte") { place in
            let storage = try place.open()
            let texts = ["{}", "{ \"x\" : 1.0e2 , \"\\u0000\":\"\u{1d11e}\u{e9}e\u{301}'\" }\n", ""]
            let large = "{\"text\":\"" + String(repeating: "0123456789", count: 200_000) + "\"}"
            let bodies = texts + [large]
            try storage.begin(
                with: bodies.enumerated().map { EntityChange(songs, orderedIDs[$0 * 3], 1, $1) })
            try storage.look { snapshot throws(HoldfastError) in
                for (index, body) in bodies.enumerated() {
                    let id = orderedIDs[index * 3]
                    let found = try snapshot.fetch(songs, id)
                    if found != Stored(id, 1, body) {
                        throw HoldfastError(.corrupt, "\(id) came back as \(found?.description ?? "nothing")")
                    }
                }
            }
        },
        Check("a fetch of what is not there answers false and lends nothing") { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "ab", 1, "{}")])
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            for (repository, id) in [(songs, "a"), (songs, "abc"), (songs, "AB"), (albums, "ab"), (99, "ab")] {
                var wasLent = false
                let exists = try snapshot.fetch(EntityKey(repository, id)) { _ in wasLent = true }
                try expect(!exists && !wasLent, "nothing at \(repository), \(id)")
            }
        },
        Check("ids that some alphabets hold equal are different ids") { place in
            let storage = try place.open()
            let ids = ["\u{e1}", "a\u{301}", "a", "A", "a ", "1", "01", "1.0"]
            try storage.begin(with: ids.map { EntityChange(songs, $0, 1, "{\"is\":\"\($0)\"}") })
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            for id in ids { try expect(snapshot.fetch(songs, id), is: Stored(id, 1, "{\"is\":\"\(id)\"}"), id) }
        },
        Check("a scan visits its repository alone, in the order of the ids' bytes") { place in
            let storage = try place.open()
            let own = orderedIDs.reversed().map { EntityChange(songs, $0, 1, "{}") }
            try storage.begin(with: own + [EntityChange(albums, "a", 1, "{}"), EntityChange(albums, "zz", 1, "{}")])
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            let expected = orderedIDs.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
            try expect(snapshot.list(songs), is: expected.map { Stored($0, 1, "{}") }, "songs")
            try expect(snapshot.list(albums).count, is: 2, "albums")
            try expect(snapshot.list(99), is: [], "a repository that does not exist")
        },
        Check("a scan begins behind the given id, whether it exists or not, and ends when told to") { place in
            let storage = try place.open()
            try storage.begin(with: ["b", "d", "f"].map { EntityChange(songs, $0, 1, "{}") })
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            let expected = [("a", "bdf"), ("b", "df"), ("c", "df"), ("d", "f"), ("f", ""), ("g", ""), ("", "bdf")]
            for (after, ids) in expected {
                let found = try snapshot.list(songs, after: after)
                try expect(found, is: ids.map { Stored(String($0), 1, "{}") }, "behind \(after)")
            }
            try expect(snapshot.list(songs, limit: 2).count, is: 2, "visited before the end was told")
            try expect(snapshot.list(songs, after: "b", limit: 1), is: [Stored("d", 1, "{}")], "the next one")
        },
        Check("a scan keeps to its range of ids, from either end, and meets no other repository's") { place in
            let storage = try place.open()
            let ids = ["a", "a\u{0}", "ab", "b", "é", "\u{10FFFF}"]
            try storage.begin(
                with: ids.map { EntityChange(songs, $0, 1, "{}") }
                    + ["a", "zz"].map { EntityChange(albums, $0, 1, "{}") })
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            let bounds = [[]] + (ids + ["", "0", "aa", "c"]).map { Array($0.utf8) } + [KeyRange.end]
            for lower in bounds {
                for upper in bounds {
                    let inside = ids.filter {
                        !Array($0.utf8).lexicographicallyPrecedes(lower)
                            && Array($0.utf8).lexicographicallyPrecedes(upper)
                    }
                    .map { Stored($0, 1, "{}") }
                    let range = KeyRange(lower: lower, upper: upper)
                    try expect(snapshot.list(EntityScan(songs, range)), is: inside, "\(range)")
                    let reversed = EntityScan(songs, range, isReversed: true)
                    try expect(snapshot.list(reversed), is: inside.reversed(), "\(range), reversed")
                    try expect(snapshot.list(reversed, limit: 1), is: Array(inside.suffix(1)), "the last of \(range)")
                }
            }
        },
        Check("an error of the borrower passes unchanged, and the snapshot goes on") { place in
            let storage = try place.open()
            try storage.begin(with: ["a", "b"].map { EntityChange(songs, $0, 1, "{}") })
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            let own = HoldfastError(.hostError, "the borrower's own")
            try expect(.hostError) { () throws(HoldfastError) in
                _ = try snapshot.fetch(EntityKey(songs, "a")) { _ throws(HoldfastError) in throw own }
            }
            try expect(.hostError) { () throws(HoldfastError) in
                try snapshot.scan(songs) { _ throws(HoldfastError) in throw own }
            }
            try expect(snapshot.list(songs).count, is: 2, "songs")
        },
    ]
}
