import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage

extension StorageConformance {
    static let snapshots: [Check] = [
        Check("a snapshot sees nothing that is committed after it was begun") { place in
            let storage = try place.open()
            try storage.begin(with: ["changed", "deleted"].map { EntityChange(songs, $0, 1, "{}") })
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            var batch = WriteBatch(
                at: 2,
                [
                    EntityChange(songs, "changed", 2, "{\"new\":1}"), EntityChange(songs, "deleted", 2, nil),
                    EntityChange(songs, "added", 2, "{}"),
                ])
            batch.idempotency = [IdempotencyRecord(key: [1], fingerprint: 1, sequence: 2, time: 1, receipt: [])]
            try storage.store(batch)

            try expect(snapshot.sequence, is: 1, "sequence")
            let expected = [Stored("changed", 1, "{}"), Stored("deleted", 1, "{}")]
            try expect(snapshot.list(songs), is: expected, "songs")
            try expect(snapshot.fetch(songs, "added"), is: nil, "the added one")
            try expect(snapshot.commitLog(after: 0)?.map(\.sequence), is: [1], "log")
            try expect(snapshot.idempotencyRecord([1]), is: nil, "idempotency record")

            let now = try storage.look { s throws(HoldfastError) in try s.list(songs) }
            try expect(now, is: [Stored("added", 2, "{}"), Stored("changed", 2, "{\"new\":1}")], "songs now")
        },
        Check("a snapshot's sequence is that of the newest commit that it sees, past gaps") { place in
            let storage = try place.open()
            try storage.begin()
            try storage.store(WriteBatch(at: 5))
            try storage.store(WriteBatch(at: 9), durable: false)
            try expect(storage.look { $0.sequence }, is: 9, "sequence")
        },
        Check("the change token tells whether somebody has committed since a snapshot was begun") { place in
            let storage = try place.open()
            try storage.begin()
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            try expect(snapshot.changeToken != nil, is: true, "there is one")
            try expect(storage.changeToken == snapshot.changeToken, is: true, "before a commit")
            let write = try storage.beginWrite(durable: false)
            try write.apply(WriteBatch(at: 2, [EntityChange(songs, "a", 2, "{}")]))
            try expect(write.changeToken == snapshot.changeToken, is: true, "what is written builds on the same")
            try expect(storage.changeToken == snapshot.changeToken, is: true, "while it is written")
            guard case .stored(let token) = try write.commit() else {
                throw HoldfastError(.corrupt, "it is not stored")
            }
            try expect(token != nil && token != snapshot.changeToken, is: true, "a commit's own token")
            try expect(storage.changeToken == token, is: true, "after the commit")
            let newer = try storage.beginSnapshot()
            defer { newer.close() }
            try expect(newer.changeToken == token, is: true, "a newer snapshot's token")
            try storage.beginWrite(durable: true).rollback()
            try expect(storage.changeToken == token, is: true, "after a rollback")
        },
        Check("snapshots of different commits are open at once while a writer goes on") { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            var open: [any StorageSnapshot] = []
            for sequence in 2...20 as ClosedRange<CommitSequence> {
                open.append(try storage.beginSnapshot())
                try storage.store(WriteBatch(at: sequence, [EntityChange(songs, "a", sequence, "{}")]))
            }
            for (index, snapshot) in open.enumerated() {
                let sequence = CommitSequence(index + 1)
                try expect(snapshot.sequence, is: sequence, "sequence")
                try expect(snapshot.fetch(songs, "a"), is: Stored("a", sequence, "{}"), "a")
                snapshot.close()
            }
        },
        Check("a write is invisible until it is committed") { place in
            let storage = try place.open()
            try storage.begin()
            let write = try storage.beginWrite(durable: true)
            try write.apply(WriteBatch(at: 2, [EntityChange(songs, "a", 2, "{}")]))
            try expect(storage.look { s throws(HoldfastError) in try s.list(songs) }, is: [], "songs before")
            try expect(storage.look { $0.sequence }, is: 1, "sequence before")
            try write.commit()
            try expect(storage.look { s throws(HoldfastError) in try s.list(songs).count }, is: 1, "songs after")
        },
        Check("a snapshot that was closed answers io, and may be closed again") { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            let snapshot = try storage.beginSnapshot()
            snapshot.close()
            snapshot.close()
            try expect(.io) { () throws(HoldfastError) in _ = try snapshot.fetch(songs, "a") }
            try expect(.io) { () throws(HoldfastError) in _ = try snapshot.list(songs) }
            try expect(.io) { () throws(HoldfastError) in _ = try snapshot.commitLog(after: 0) }
            try expect(.io) { () throws(HoldfastError) in _ = try snapshot.idempotencyRecord([1]) }
        },
        Check("closing a snapshot does not wait for a call that reads from it, which goes on") { place in
            let storage = try place.open()
            try storage.begin(with: (0..<3).map { EntityChange(songs, "s\($0)", 1, "{}") })
            let snapshot = try storage.beginSnapshot()
            let gate = Gate()
            let read = Lock<(count: Int, isClosed: Bool, failure: HoldfastError?)>((0, false, nil))
            let reader = try ThreadWorkers().start(name: "reader") {
                do throws(HoldfastError) {
                    try snapshot.scan(songs) { _ throws(HoldfastError) in
                        let isFirst = read.withLock { read in
                            read.count += 1
                            return read.count == 1
                        }
                        if isFirst {
                            gate.advance()
                            // Until it was closed, or it is clear that closing it waits.
                            for _ in 0..<60_000 where !read.withLock({ $0.isClosed }) {
                                gate.wait(while: gate.number, nanoseconds: 10_000_000)
                            }
                            if !read.withLock({ $0.isClosed }) {
                                throw HoldfastError(.timeout, "closing waited for what is read")
                            }
                        }
                        return true
                    }
                } catch {
                    read.withLock { $0.failure = error }
                }
                return .finished
            }
            while read.withLock({ $0.count }) == 0 { gate.wait(while: gate.number, nanoseconds: 1_000_000) }
            snapshot.close()
            read.withLock { $0.isClosed = true }
            _ = reader.waitUntilFinished(deadline: nil)
            try expect(read.withLock { $0.failure?.message }, is: nil, "failure")
            try expect(read.withLock { $0.count }, is: 3, "songs read")
            try expect(.io) { () throws(HoldfastError) in _ = try snapshot.list(songs) }
            try storage.store(WriteBatch(at: 2, [EntityChange(songs, "a", 2, "{}")]))
            let now = try storage.look { s throws(HoldfastError) in try s.list(songs).count }
            try expect(now, is: 4, "songs now")
        },
        Check("what is read from a storage that was closed answers closed") { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            let snapshot = try storage.beginSnapshot()
            try storage.close(head: 1)
            try expect(.closed) { () throws(HoldfastError) in _ = try snapshot.fetch(songs, "a") }
            try expect(.closed) { () throws(HoldfastError) in _ = try snapshot.list(songs) }
            try expect(.closed) { () throws(HoldfastError) in _ = try storage.readState() }
            try expect(.closed) { () throws(HoldfastError) in _ = try storage.beginSnapshot() }
            try expect(.closed) { () throws(HoldfastError) in _ = try storage.resolve([CommitName(1, at: 1)]) }
            snapshot.close()
        },
        Check("several threads read one snapshot, while another is closed under its reader") { place in
            let storage = try place.open()
            try storage.begin(with: (0..<100).map { EntityChange(songs, "s\($0)", 1, "{\"n\":\($0)}") })
            let kept = try storage.beginSnapshot()
            let closed = try storage.beginSnapshot()
            defer { kept.close() }
            let faults = Lock<[String]>([])
            var threads: [any Worker] = []
            for _ in 0..<4 {
                threads.append(
                    try ThreadWorkers().start(name: "reader") {
                        do throws(HoldfastError) {
                            for n in 0..<100 where try kept.fetch(songs, "s\(n)") != Stored("s\(n)", 1, "{\"n\":\(n)}")
                            {
                                faults.withLock { $0.append("s\(n) is wrong") }
                            }
                            let count = try kept.list(songs).count
                            if count != 100 { faults.withLock { $0.append("\(count) songs") } }
                        } catch {
                            faults.withLock { $0.append("\(error)") }
                        }
                        do throws(HoldfastError) {
                            for _ in 0..<1_000 { _ = try closed.list(songs) }
                        } catch {
                            if error.status != .io { faults.withLock { $0.append("\(error)") } }
                        }
                        return .finished
                    })
            }
            closed.close()
            for thread in threads { _ = thread.waitUntilFinished(deadline: nil) }
            try expect(faults.withLock { $0 }, is: [], "faults")
        },
    ]
}
