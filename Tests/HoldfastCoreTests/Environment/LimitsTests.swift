import DrawnLimits
import HoldfastCore
import SeededRandom
import Testing

@testable import HoldfastEnvironment

@Suite("Limits by name")
struct LimitsTests {
    @Test func `what is not named stays as it is`() throws {
        var expected = Limits()
        #expect(try Limits("") == expected)
        expected.recentChanges = 1
        expected.batchCommits = 2
        #expect(try Limits("recentChanges=1,batchCommits=2") == expected)
    }

    @Test(arguments: [
        "recentChanges", "recentChanges=", "recentChanges=0", "recentChanges=-1", "nothing=1", "=1",
        "recentChanges=9223372036854775808",
    ])
    func `what is no limit, or no number from 1 on, is refused`(text: String) {
        #expect(throws: HoldfastError.self) { try Limits(text) }
    }

    @Test func `each can be as great as a number can be, and counts as what is beyond everything`() throws {
        let text = Limits.all.map { "\($0.name)=\(Int.max)" }.joined(separator: ",")
        let limits = try Limits(text)
        #expect(Limits.all.allSatisfy { limits[keyPath: $0.path] == Limits.greatest })
    }

    @Test func `each can be set, and their description sets them again`() throws {
        var ones = Limits()
        for (_, path) in Limits.all { ones[keyPath: path] = 1 }
        // What has no name here would still be as it is shipped.
        #expect(Mirror(reflecting: ones).children.allSatisfy { $0.value as? Int == 1 })
        #expect(try Limits(ones.description) == ones)
        var random = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let drawn = Limits.drawn(using: &random)
            #expect(try Limits(drawn.description) == drawn)
        }
    }
}
