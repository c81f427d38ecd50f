internal import HoldfastQuery

/// How `holdfast_log.changes`, of any engine that has it, tells the commits of a row and the entities that they changed.
/// Numbers are unsigned LEB128: seven bits a byte, the lowest first, the top bit set in all but the last.
///
///     changes    = commit*                                  oldest first; the last is the one that the row names
///     commit     = behind id age count group{count}
///                                                           `behind`, `id` and `age` are the row's sequence,
///                                                           commit_id and time less the commit's own, and from
///                                                           `id` also less `behind`, all modulo 2^64
///     group      = repository count change{count}           one for each repository, ordered by it
///     change     = (length * 2 + deletion) id               ordered by id; deletion is 1 or 0; id is `length` bytes
package enum CommitLogEncoding {
    /// The commits of one row, of which there is at least one, in their order.
    package static func encode(_ entries: [CommitLogEntry], under newest: CommitLogEntry) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entries.count * 32)
        for entry in entries {
            let behind = newest.sequence &- entry.sequence
            append(behind, to: &bytes)
            append(newest.commitIdentifier &- entry.commitIdentifier &- behind, to: &bytes)
            append(newest.time &- entry.time, to: &bytes)
            encode(entry.changes, into: &bytes)
        }
        return bytes
    }

    private static func encode(_ changes: [CommitLogEntry.Change], into bytes: inout [UInt8]) {
        var groups: UInt64 = 0
        for index in changes.indices
        where index == 0 || changes[index].key.repository != changes[index - 1].key.repository { groups += 1 }
        append(groups, to: &bytes)
        var first = 0
        while first < changes.count {
            let repository = changes[first].key.repository
            var end = first + 1
            while end < changes.count, changes[end].key.repository == repository { end += 1 }
            append(UInt64(bitPattern: repository), to: &bytes)
            append(UInt64(end - first), to: &bytes)
            for change in changes[first..<end] {
                let id = change.key.id.bytes
                append(UInt64(id.count) << 1 | (change.isDeletion ? 1 : 0), to: &bytes)
                bytes.append(contentsOf: id)
            }
            first = end
        }
    }

    /// The commits of a row, of which `newest` is what the row itself tells; nil where the bytes are not what `encode`
    /// makes.
    package static func decode(_ bytes: UnsafeRawBufferPointer, under newest: CommitLogEntry) -> [CommitLogEntry]? {
        var reader = Reader(bytes: bytes)
        var entries: [CommitLogEntry] = []
        while !reader.isAtEnd {
            guard let behind = reader.number(), behind < newest.sequence, let id = reader.number(),
                let age = reader.number(), let changes = reader.changes()
            else { return nil }
            entries.append(
                CommitLogEntry(
                    sequence: newest.sequence - behind, commitIdentifier: newest.commitIdentifier &- id &- behind,
                    time: newest.time &- age, changes: changes))
        }
        return entries.last?.sequence == newest.sequence ? entries : nil
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest > 127 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var position = 0

        var isAtEnd: Bool { position == bytes.count }

        mutating func changes() -> [CommitLogEntry.Change]? {
            guard let groups = number() else { return nil }
            var changes: [CommitLogEntry.Change] = []
            for _ in 0..<groups {
                guard let repository = number(), let count = number() else { return nil }
                for _ in 0..<count {
                    guard let head = number(), head >> 1 <= UInt64(bytes.count - position) else { return nil }
                    let end = position + Int(head >> 1)
                    let id = EntityID(unchecked: [UInt8](bytes[position..<end]))
                    position = end
                    changes.append(
                        CommitLogEntry.Change(
                            key: EntityKey(RepositoryID(bitPattern: repository), id), isDeletion: head & 1 == 1))
                }
            }
            return changes
        }

        mutating func number() -> UInt64? {
            var value: UInt64 = 0
            var shift: UInt64 = 0
            while position < bytes.count, shift < 64 {
                let byte = bytes[position]
                position += 1
                value |= UInt64(byte & 127) << shift
                if byte < 128 { return value }
                shift += 7
            }
            return nil
        }
    }
}
