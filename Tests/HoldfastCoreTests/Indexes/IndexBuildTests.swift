import HoldfastServices
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment

@Suite("Building an index")
struct IndexBuildTests {
    private static let options = "{\"fields\":{\"n\":1}}"

    /// So many entities whose order by `n` is none by id.
    private func filled(_ limits: Limits, _ count: Int) throws -> Bench {
        let bench = try Bench(limits)
        for number in 0..<count { try bench.save(text(number, n: number * 7 % count)) }
        return bench
    }

    private func text(_ number: Int, n: Int) -> String { "{\"id\":\"e\(number)\",\"n\":\(n)}" }

    private func expectRight(_ bench: Bench) throws {
        let report = try String(decoding: bench.things.verify(), as: UTF8.self)
        #expect(report.hasPrefix("{\"ok\":true,"), "\(report)")
    }

    @Test func `in several runs enters every entity`() throws {
        for bytes in [1, 200, 1000] {
            var limits = Limits()
            limits.indexRunBytes = bytes
            let bench = try filled(limits, 60)
            try Self.options.withBytes { try bench.things.createIndex($0) }
            try expectRight(bench)
        }
    }

    @Test(arguments: [1, 1_000_000])
    func `leaves to others what changes between its pieces, remembered or not`(remembered: Int) throws {
        var limits = Limits()
        limits.indexPieceEntries = 5
        limits.recentChanges = remembered
        let bench = try filled(limits, 60)
        try Self.options.withBytes { options in
            try bench.things.createIndex(options) { done in
                // With another value, and with the same.
                let number = Int(done)
                try? bench.save(text((number + 20) % 60, n: 1000 + number))
                try? bench.save(text((number + 21) % 60, n: (number + 21) % 60 * 7 % 60))
                return true
            }
        }
        try expectRight(bench)
    }
}
