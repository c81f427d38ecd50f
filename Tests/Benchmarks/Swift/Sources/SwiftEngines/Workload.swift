import Foundation

/// What an engine is asked to do with documents. Answers the operations and how long they took.
enum Workload: String {
    /// Documents are committed one by one, so many in flight.
    case commits
    /// They are committed in batches.
    case load
    /// They are fetched by their ids, after each was fetched before.
    case cachedReads = "cached-reads"
    /// About 1,000 at a time are found along an index.
    case queries

    static let batch = 1_000

    func measure(
        _ engine: some Engine, _ documents: [Document], count: Int, inFlight: Int
    ) async throws -> (operations: Int, seconds: Double) {
        let clock = ContinuousClock()
        var operations = count
        var duration = Duration.zero
        switch self {
        case .commits:
            try require(count <= documents.count, "there are only \(documents.count) documents")
            duration = try await clock.measure {
                try await Self.commit(documents[..<count], to: engine, inFlight: inFlight)
            }
        case .load:
            try require(count <= documents.count, "there are only \(documents.count) documents")
            duration = try await clock.measure { try await Self.load(documents[..<count], into: engine) }
        case .cachedReads:
            try await Self.load(documents[...], into: engine)
            for document in documents {
                try require(try await engine.fetch(id: document.id) == document, "another document was fetched")
            }
            duration = try await clock.measure {
                for number in 0..<count {
                    let id = documents[number % documents.count].id
                    try require(try await engine.fetch(id: id)?.id == id, "another document was fetched")
                }
            }
        case .queries:
            try await engine.indexSizes()
            try await Self.load(documents[...], into: engine)
            let ranges = Self.ranges(of: documents)
            var finds = 0
            operations = 0
            duration = try await clock.measure {
                while operations < count {
                    let (range, expected) = ranges[finds % ranges.count]
                    let found = try await engine.find(sizes: range)
                    try require(found.count == expected, "another number of documents was found")
                    operations += expected
                    finds += 1
                }
            }
        }
        let (seconds, attoseconds) = duration.components
        return (operations, Double(seconds) + Double(attoseconds) / 1e18)
    }

    private static func commit(
        _ documents: ArraySlice<Document>, to engine: some Engine, inFlight: Int
    ) async throws {
        try await withThrowingTaskGroup { group in
            for first in 0..<min(inFlight, documents.count) {
                group.addTask {
                    for place in stride(from: first, to: documents.count, by: inFlight) {
                        try await engine.add(documents[place])
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func load(_ documents: ArraySlice<Document>, into engine: some Engine) async throws {
        for start in stride(from: 0, to: documents.count, by: batch) {
            try await engine.addMany(Array(documents[start..<min(start + batch, documents.count)]))
        }
    }

    /// Ranges of sizes, each with how many documents are in it.
    private static func ranges(of documents: [Document]) -> [(Range<Int>, Int)] {
        let sizes = documents.map(\.installedSize).sorted()
        var ranges: [(Range<Int>, Int)] = []
        var first = 0
        while first < sizes.count {
            var end = min(first + batch, sizes.count)
            while end < sizes.count, sizes[end] == sizes[end - 1] { end += 1 }
            ranges.append((sizes[first]..<sizes[end - 1] + 1, end - first))
            first = end
        }
        return ranges
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
}

func require(_ isRight: Bool, _ message: @autoclosure () -> String) throws {
    if !isRight { throw Failure(description: message()) }
}
