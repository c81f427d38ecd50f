import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage
import StorageConformance
import Testing

@testable import HoldfastPostgreSQL

/// A plain read of a near server asks for an entity of the state that is known; where that is not the newest, it asks once more.
@Suite(.serialized) struct ExpectationTests {
    private static let cluster = Cluster()
    private var cluster: Cluster { Self.cluster }

    private struct Change: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// What becomes of the store's row, after the second of two commits.
        let sql: String
        /// Whether another process commits then.
        var isFollowed = false
        var text: String?
        var status: Status?
    }

    private static let changes = [
        Change(testDescription: "a commit", sql: "", isFollowed: true, text: "{3}"),
        Change(testDescription: "a write without one", sql: "SET writes = writes + 1", text: "{2}"),
        Change(testDescription: "the loss of one", sql: lost, status: .historyLost),
        Change(testDescription: "a commit in the place of one", sql: lost, isFollowed: true, status: .historyLost),
        Change(testDescription: "a newer format", sql: "SET format = 2", status: .formatTooNew),
        Change(testDescription: "another store", sql: "SET incarnation = '0123456789abcdef'", status: .io),
        Change(testDescription: "another number", sql: "SET store = store + 1000", status: .io),
    ]
    private static let lost = "SET head = 1, writes = writes - 1, commit_id = 2654435769"

    @Test(arguments: changes)
    private func `what is new is found though nothing was expected`(_ change: Change) throws {
        let name = change.testDescription
        let storage = try open(cluster.url, { $0.store = name }, limits: { $0.serverNear = .max })
        for sequence in 1...2 as ClosedRange<CommitSequence> { try storage.store(["a": "\(sequence)"], at: sequence) }
        func read() -> (text: String?, status: Status?, roundTrips: UInt64) {
            let before = storage.server!.roundTrips
            var text: String?
            let failure = error { () throws(HoldfastError) in text = try storage.newest("a") }
            return (text, failure?.status, storage.server!.roundTrips - before)
        }
        for _ in 0..<3 { #expect(read() == ("{2}", nil, 1)) }
        #expect(try storage.newest("none") == nil)
        let store = "(SELECT store FROM holdfast_store WHERE name = '\(name)')"
        if change.sql == Self.lost {
            cluster.sql("DELETE FROM holdfast_log WHERE store = \(store) AND sequence = 2")
        }
        if !change.sql.isEmpty { cluster.sql("UPDATE holdfast_store \(change.sql) WHERE name = '\(name)'") }
        // Its end would write once more.
        let other = change.isFollowed ? try open(cluster.url) { $0.store = name } : nil
        defer { try? other?.close(head: 0) }
        if let other {
            let isLost = change.status == .historyLost
            try other.store(["a": "3"], at: isLost ? 2 : 3, salt: isLost ? 7 : 0)
        }
        #expect(read() == (change.text, change.status, 2))
        if change.text != nil { #expect(read() == (change.text, nil, 1)) }
        try? storage.close(head: 0)
    }
}
