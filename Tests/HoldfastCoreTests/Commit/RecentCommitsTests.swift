import SeededRandom
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery
@testable import HoldfastStorage

@Suite("What is remembered of recent commits")
struct RecentCommitsTests {
    private func key(_ number: Int) -> EntityKey { EntityKey(1, EntityID(unchecked: Array("\(number)".utf8))) }

    private func entry(_ sequence: CommitSequence, _ keys: [Int]) -> CommitLogEntry {
        let changes = keys.sorted().map { CommitLogEntry.Change(key: key($0), isDeletion: false) }
        return CommitLogEntry(sequence: sequence, commitIdentifier: 0, time: 0, changes: changes)
    }

    /// Commits of 0 to 6 of 5 keys, in appends of several.
    private func commits(_ random: inout SeededGenerator) -> [[CommitLogEntry]] {
        var sequence: CommitSequence = 0
        return (0..<12).map { _ in
            (0..<Int.random(in: 0...4, using: &random)).map { _ in
                sequence += CommitSequence.random(in: 1...3, using: &random)
                let count = Int.random(in: 0...5, using: &random)
                return entry(sequence, Array((0..<5).shuffled(using: &random).prefix(count)))
            }
        }
    }

    @Test func `of a snapshot that it covers it knows everything that has changed since`() {
        for seed in Seeds.of(500) {
            var random = SeededGenerator(seed: seed)
            var recent = RecentCommits(start: 0, limit: Int.random(in: 1...12, using: &random))
            var all: [CommitLogEntry] = []
            for newer in commits(&random) {
                recent.append(newer)
                all += newer
                #expect(recent.changes.count <= 12)
                for snapshot in 0...(all.last?.sequence ?? 0) where recent.covers(snapshot) {
                    for number in 0..<5 {
                        let key = key(number)
                        let written = all.last { entry in entry.changes.contains { $0.key == key } }?.sequence ?? 0
                        #expect((recent.changes.lastWrite(key) > snapshot) == (written > snapshot), "seed \(seed)")
                    }
                    let changed = recent.changes.changed(in: 1, after: snapshot)
                    let expected = Set(all.filter { $0.sequence > snapshot }.flatMap { $0.changes.map(\.key) })
                    #expect(Set(changed.map(\.key)) == expected && changed.count == expected.count, "seed \(seed)")
                }
                #expect(recent.covers(all.last?.sequence ?? 0))
            }
        }
    }

    @Test func `what is read of the commit log covers no snapshot of which it does not tell everything`() throws {
        for seed in Seeds.of(500) {
            var random = SeededGenerator(seed: seed)
            let all = commits(&random).flatMap(\.self)
            let head = all.last?.sequence ?? 0
            let begins = CommitSequence.random(in: 0...head, using: &random)
            var limits = Limits()
            limits.checkPage = Int.random(in: 1...4, using: &random)
            limits.checkedChanges = Int.random(in: 1...12, using: &random)
            let snapshots = (0..<3).map { _ in CommitSequence.random(in: 0...head, using: &random) }
            let read = try RecentCommits(behind: snapshots, in: [1], head: head, limits) { after, limit in
                after < begins ? nil : Array(all.filter { $0.sequence > after }.prefix(limit))
            }
            for snapshot in snapshots where read.covers(snapshot) {
                #expect(snapshot >= begins)
                let changed = Set(read.changes.changed(in: 1, after: snapshot).map(\.key))
                #expect(changed == Set(all.filter { $0.sequence > snapshot }.flatMap { $0.changes.map(\.key) }))
            }
        }
    }
}
