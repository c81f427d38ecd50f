import Foundation
import Holdfast
import Testing

/// Written as Swift, by their names in the file that the Python package's tests read too.
private let filters: [String: Filter<Album>] = [
    "equal": \.title == "Gloria",
    "unequal": \.title != "Gloria",
    "less": \.plays < 3,
    "less or equal": \.plays <= 3,
    "greater": \.rating > 2.5,
    "greater or equal": \.year >= 1965,
    "nested": \.label.city == "Baarn",
    "null": \.rating == nil,
    "both": both,
    "three": three,
    "either": \.plays > 1 || \.isLive == true,
    "mixed": mixed,
    "not": !(\.year >= 1965),
    "in": .in(\.genre, [.rock, .soul]),
    "not in": .notIn(\.genre, [.rock]),
    "exists": .exists(\.formerLabel),
    "missing": .exists(\.formerLabel, false),
    "type": .hasType(\.rating, .number, .null),
    "pattern": .matches(\.title, "^Glo"),
    "pattern with options": .matches(\.title, "^glo", options: "i"),
    "remainder": .remainder(\.year, dividingBy: 4, is: 0),
    "an element equals": .contains(\.tags, "voice"),
    "all elements": .containsAll(\.tags, ["voice", "piano"]),
    "so many elements": .hasCount(\.tags, 2),
    "an element of objects": .any(\.reviews, \.author == "y" && \.stars > 3),
    "an element itself": .any(\.scores, \.self >= 50 && \.self < 70),
    "no such element": .any(\.scores, !(\.self < 50)),
]
private let both: Filter<Album> = \.year >= 1965 && \.label.name == "Philips"
private let three: Filter<Album> = \.plays > 1 && \.plays < 9 && \.isLive == true
private let mixed: Filter<Album> = \.plays == 1 || \.plays == 2 && \.plays != 3

@Suite("A filter of key paths")
struct ExpressionTests {
    /// The members of JSON objects in one order, so that texts can be compared.
    private func sorted(_ json: Any) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: json, options: .sortedKeys), as: UTF8.self)
    }

    @Test("becomes the same filter as the Python expression of the same meaning")
    func sameAsPython() async throws {
        let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Expressions/expressions.json")
        let expected = try #require(
            JSONSerialization.jsonObject(with: Data(contentsOf: file.standardized)) as? [String: Any])
        #expect(Set(expected.keys) == Set(filters.keys))
        try await withAlbums(.memory) { albums in
            for (name, filter) in filters {
                let json = try JSONSerialization.jsonObject(with: Data(filter.json(for: albums).utf8))
                try #expect(sorted(json) == sorted(expected[name] as Any), "\(name)")
            }
        }
    }

    @Test("finds what it means", arguments: Engine.allCases)
    func finding(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            func ids(_ filter: Filter<Album>) async throws -> String {
                try await albums.find(filter).map { String($0.id.dropFirst()) }.joined(separator: " ")
            }
            try await #expect(ids(\.year >= 1968 && \.label.name == "RCA") == "08 09 10 11")
            try await #expect(ids(\.year > 1968 || \.year <= 1960) == "00 09 10 11")
            try await #expect(ids(!(\.year >= 1962)) == "00 01")
            try await #expect(ids(\.rating > 4) == "10 11")
            try await #expect(ids(\.rating == nil) == "00 03 06 09")
            try await #expect(ids(\.label.city == nil) == "00 01 02")
            try await #expect(ids(\.formerLabel?.city == "New York") == "05")
            try await #expect(ids(.in(\.genre, [.jazz])) == "02 05 08 11")
            try await #expect(ids(.contains(\.tags, "piano") && \.year > 1967) == "08 10")
            try await #expect(ids(.any(\.reviews, \.author == "x" && \.stars > 3)) == "")
            try await #expect(ids(.any(\.reviews, \.author == "y" && \.stars > 3)) == "07")
            try await #expect(ids(.any(\.scores, \.self > 20 && \.self < 60)) == "03 04 05")
            try await #expect(ids(\.released < Date(timeIntervalSince1970: 86_400)) == "00")
            try await #expect(ids(["title": "Title 3"] || \.title == "Title 4") == "03 04")
            try await #expect(ids(Filter(json: #"{"released_in": 1961}"#) && \.plays == 1) == "01")
        }
    }

    @Test("joins with no text that is not one filter")
    func textsWithin() async throws {
        try await withAlbums(.memory) { albums in
            await expectError(.invalidJSON) {
                _ = try await albums.count(Filter(json: #"{"a":1},{"b":2}"#) || \.plays == 1)
            }
        }
    }

    @Test("of an element itself stands in any alone, and joins its like with && alone")
    func elementConditions() async throws {
        try await withStore(.memory) { store in
            let albums = store.repository(of: Album.self)
            await expectError(.invalidQuery) { _ = try await albums.count(.any(\.scores, \.self > 1 || \.self < 0)) }
            await expectError(.invalidQuery) { _ = try await albums.count(.any(\.scores, \.self > 1 && \.self > 2)) }
            await expectError(.invalidQuery) {
                _ = try await albums.count(.any(\.reviews, .exists(\.self) && \.stars > 2))
            }
            await expectError(.invalidQuery) { _ = try await albums.count(.exists(\.self)) }
        }
    }

    @Test("that compares what cannot be compared does not compile")
    func mistakes() async throws {
        // The modules lie beside the test program, wherever that was built.
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        let program = try #require(maps.split(whereSeparator: { " \n".contains($0) }).first { $0.hasSuffix(".xctest") })
        let build = URL(fileURLWithPath: String(program)).deletingLastPathComponent().path
        let sources = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../Sources").standardized.path
        let moduleMaps = try [build, sources].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)/module.modulemap" }
        }.filter { FileManager.default.fileExists(atPath: $0) }
        try await withDirectory { directory in
            func compiles(_ expression: String) async throws -> Bool {
                let file = "\(directory)/main.swift"
                let source = """
                    import Holdfast
                    struct Song: Codable, Sendable { var title = "", plays = 0, tags = [""], note: String? }
                    let filter: Filter<Song> = \(expression)
                    """
                try source.write(toFile: file, atomically: true, encoding: .utf8)
                // For seconds, which the tests beside it want the tasks' few threads for.
                return try await onThread {
                    let compiler = Process()
                    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
                    compiler.arguments =
                        ["swiftc", "-typecheck", "-swift-version", "6", "-I", "\(build)/Modules"]
                        + moduleMaps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] } + [file]
                    compiler.standardError = FileHandle.nullDevice
                    try compiler.run()
                    compiler.waitUntilExit()
                    return compiler.terminationStatus == 0
                }
            }
            try await #expect(compiles(#"\.title == "x" && \.plays > 1 && \.note != "x" && .contains(\.tags, "x")"#))
            for mistake in [
                #"\.title == 1"#, #"\.plays > "x""#, #"\.note == 1"#, #".contains(\.tags, 1)"#, #"\.name == "x""#,
            ] {
                try await #expect(!compiles(mistake), "\(mistake)")
            }
        }
    }
}
