import HoldfastCore
import HoldfastEnvironment
import HoldfastStorage

extension StorageConformance {
    static let opening: [Check] = [
        Check("a new storage has an incarnation of 16 bytes, no repository, and used no sequence") { place in
            let storage = try place.open()
            let state = try storage.readState()
            try expect(state.incarnation.count, is: 16, "bytes of the incarnation")
            try expect(state.repositories, is: [], "repositories")
            try expect(state.head, is: 0, "head")
            try expect(state.reservedThrough, is: 0, "reserved mark")
            try expect(storage.look { $0.sequence }, is: 0, "sequence of a snapshot")
            try expect(!storage.isReadOnly, "a storage that can be written")
        },
        Check("the incarnation of a new storage is random") { place in
            let storage = try place.open()
            let state = try storage.readState()
            try expect(Set(state.incarnation).count > 1, "random bytes, not \(state.incarnation)")
        },
        Check("after a clean close the next sequence is the one behind the head", keeps: true) { place in
            var storage = try place.open()
            try storage.begin()
            try storage.store(WriteBatch(at: 2))
            let before = try storage.readState()
            try expect(before.reservedThrough, is: 1_000, "reserved mark while open")
            try storage.close(head: 2)
            storage = try place.open()
            let state = try storage.readState()
            try expect(state.head, is: 2, "head")
            try expect(state.reservedThrough, is: 2, "reserved mark")
            try expect(state.incarnation, is: before.incarnation, "incarnation")
        },
        Check("after an unclean end no reserved sequence is used again", keeps: true) { place in
            let incarnation = try leaveUnclean(place)
            let storage = try place.open()
            let state = try storage.readState()
            try expect(state.head, is: 1_000, "head")
            try expect(state.reservedThrough, is: 1_000, "reserved mark")
            try expect(state.incarnation, is: incarnation, "incarnation")
            try expect(storage.look { $0.sequence }, is: 1_000, "sequence of a snapshot")
        },
        Check("a close that used more sequences than were stored keeps them from being used again", keeps: true) {
            place in
            var storage = try place.open()
            try storage.begin()
            try storage.close(head: 7)
            storage = try place.open()
            try expect(storage.readState().head, is: 7, "head")
        },
        Check("a close without a head, as after a failed start, gives no sequence back that was stored", keeps: true) {
            place in
            var storage = try place.open()
            try storage.begin()
            try storage.close(head: 0)
            storage = try place.open()
            try expect(storage.readState().head, is: 1, "head")
        },
        Check("what was committed durably is there after an unclean end", keeps: true) { place in
            _ = try leaveUnclean(place)
            let storage = try place.open()
            try expect(
                storage.look { s throws(HoldfastError) in try s.list(songs) }, is: [Stored("a", 1, "{}")], "songs")
            try expect(storage.readState().repositories.map(\.name), is: ["songs", "albums"], "repositories")
        },
        Check("what was committed without durability is there after a clean close", keeps: true) { place in
            var storage = try place.open()
            try storage.begin()
            try storage.store(WriteBatch(at: 2, [EntityChange(songs, "b", 2, "{}")]), durable: false)
            try storage.sync()
            try storage.store(WriteBatch(at: 3, [EntityChange(songs, "c", 3, "{}")]), durable: false)
            try storage.close(head: 3)
            storage = try place.open()
            let found = try storage.look { s throws(HoldfastError) in try s.list(songs) }
            try expect(found, is: [Stored("b", 2, "{}"), Stored("c", 3, "{}")], "songs")
        },
        Check("recover ends open snapshots, keeps what is committed, and the storage goes on") { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            let snapshot = try storage.beginSnapshot()
            try storage.recover()
            try expect(.io) { () throws(HoldfastError) in _ = try snapshot.fetch(songs, "a") }
            snapshot.close()
            try storage.store(WriteBatch(at: 2, [EntityChange(songs, "b", 2, "{}")]))
            let found = try storage.look { s throws(HoldfastError) in try s.list(songs) }
            try expect(found, is: [Stored("a", 1, "{}"), Stored("b", 2, "{}")], "songs")
            try expect(storage.readState().reservedThrough, is: 1_000, "reserved mark")
        },
    ]

    /// Ends a storage without `close`; answers its incarnation.
    private static func leaveUnclean(_ place: any StoragePlace) throws -> [UInt8] {
        let storage = try place.open()
        try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
        return try storage.readState().incarnation
    }
}
