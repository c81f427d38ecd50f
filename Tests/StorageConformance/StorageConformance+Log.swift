import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage

extension StorageConformance {
    static let commitLog: [Check] = [
        Check("the log tells every commit behind a sequence, oldest first, with its changes", keeps: true) { place in
            var storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            var entries: [CommitLogEntry] = []
            for (sequence, changes) in [
                (2, [EntityChange(songs, "\u{0}\u{e9}", 2, "{}"), EntityChange(albums, "", 2, nil)]),
                (3, []),
                (7, [EntityChange(songs, "a", 7, nil), EntityChange(9_000_000_000, "b", 7, "{}")]),
                (8, (0..<3_000).map { EntityChange(songs, "s\($0)", 8, $0.isMultiple(of: 7) ? nil : "{}") }),
            ] as [(CommitSequence, [EntityChange])] {
                let batch = WriteBatch(at: sequence, changes)
                entries += batch.commitLog
                try storage.store(batch, durable: sequence != 3)
            }
            func compare() throws {
                let snapshot = try storage.beginSnapshot()
                defer { snapshot.close() }
                let write = try storage.beginWrite(durable: true)
                defer { write.rollback() }
                for after in 1...9 as ClosedRange<CommitSequence> {
                    let expected = entries.filter { $0.sequence > after }
                    try expect(snapshot.commitLog(after: after), is: expected, "log of a snapshot behind \(after)")
                    try expect(write.commitLog(after: after), is: expected, "log of a write behind \(after)")
                }
            }
            try compare()
            try storage.close(head: 8)
            storage = try place.open()
            try compare()
        },
        Check("commits that were stored together are told apart") { place in
            let storage = try place.open()
            try storage.begin()
            var together = WriteBatch(at: 7, [EntityChange(songs, "a", 7, "{}"), EntityChange(albums, "b", 7, nil)])
            together.commitLog =
                WriteBatch(at: 2, [EntityChange(songs, "a", 2, "{}")]).commitLog + WriteBatch(at: 3).commitLog
                + together.commitLog
            try storage.store(together)
            try storage.store(WriteBatch(at: 8))
            let entries = together.commitLog + WriteBatch(at: 8).commitLog
            func compare(after sequences: ClosedRange<CommitSequence>) throws {
                let snapshot = try storage.beginSnapshot()
                defer { snapshot.close() }
                for after in sequences {
                    try expect(
                        snapshot.commitLog(after: after), is: entries.filter { $0.sequence > after },
                        "log behind \(after)")
                }
            }
            try compare(after: 1...8)
            for sequence in 2...8 as ClosedRange<CommitSequence> {
                let isThere = [2, 3, 7, 8].contains(sequence)
                let name = CommitName(identifier(of: sequence), at: sequence)
                try expect(storage.resolve([name]), is: [isThere], "\(sequence)")
            }
            var batch = WriteBatch()
            batch.trimCommitLogBelow = 3
            try storage.store(batch)
            try compare(after: 2...8)
            try storage.look { snapshot throws(HoldfastError) in
                if try snapshot.commitLog(after: 1) != nil { throw HoldfastError(.corrupt, "the log seems complete") }
            }
        },
        Check("a log that was trimmed answers nil where entries are missing, and all of them elsewhere") { place in
            let storage = try place.open()
            try storage.begin()
            for sequence in 2...10 as ClosedRange<CommitSequence> { try storage.store(WriteBatch(at: sequence)) }
            var batch = WriteBatch(at: 11)
            batch.trimCommitLogBelow = 6
            try storage.store(batch)
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            let write = try storage.beginWrite(durable: true)
            defer { write.rollback() }
            for after in 0...4 as ClosedRange<CommitSequence> {
                try expect(snapshot.commitLog(after: after), is: nil, "log behind \(after)")
                try expect(write.commitLog(after: after), is: nil, "log of a write behind \(after)")
            }
            for after in 5...11 as ClosedRange<CommitSequence> {
                try expect(
                    snapshot.commitLog(after: after)?.map(\.sequence), is: Array(after..<11).map { $0 + 1 }, "log")
            }
        },
        Check("a log that was trimmed stays so when the storage is opened anew", keeps: true) { place in
            var storage = try place.open()
            try storage.begin()
            for sequence in 2...5 as ClosedRange<CommitSequence> { try storage.store(WriteBatch(at: sequence)) }
            var batch = WriteBatch(at: 6)
            batch.trimCommitLogBelow = 6
            try storage.store(batch)
            try storage.close(head: 6)
            storage = try place.open()
            try storage.look { snapshot throws(HoldfastError) in
                if try snapshot.commitLog(after: 4) != nil { throw HoldfastError(.corrupt, "the log seems complete") }
                if try snapshot.commitLog(after: 5)?.count != 1 {
                    throw HoldfastError(.corrupt, "the newest entry is gone")
                }
            }
            try expect(storage.readState().head, is: 6, "head")
        },
        Check("a commit is known by its identifier at its sequence, and by nothing else") { place in
            let storage = try place.open()
            try storage.begin()
            try storage.store(WriteBatch(at: 2), durable: false)
            let names = [
                CommitName(identifier(of: 2), at: 2), CommitName(identifier(of: 2), at: 1),
                CommitName(identifier(of: 3), at: 2),
                CommitName(identifier(of: 3), at: 3),
            ]
            try expect(storage.resolve(names), is: [true, false, false, false], "the commits")
            try expect(storage.resolve([]), is: [], "none")
        },
    ]
}
