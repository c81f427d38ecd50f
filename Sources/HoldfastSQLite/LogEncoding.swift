import HoldfastCore

/// How `holdfast_log.changes` names the entities that a commit changed. Numbers are unsigned LEB128: seven bits a
/// byte, the lowest first, the top bit set in all but the last.
///
///     changes    = group*                                   one for each repository, ordered by it
///     group      = repository count change{count}
///     change     = (length * 2 + deletion) id               ordered by id; deletion is 1 or 0; id is `length` bytes
///
/// A commit without changes, as the row that marks an unclean close, has no bytes.
enum LogEncoding {
    static func encode(_ changes: [LogEntry.Change], into bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
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

    /// nil where the bytes are not what `encode` makes.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> [LogEntry.Change]? {
        var changes: [LogEntry.Change] = []
        var position = 0
        while position < bytes.count {
            guard let repository = number(bytes, &position), let count = number(bytes, &position) else { return nil }
            for _ in 0..<count {
                guard let head = number(bytes, &position), head >> 1 <= UInt64(bytes.count - position) else {
                    return nil
                }
                let end = position + Int(head >> 1)
                let id = EntityID(unchecked: [UInt8](bytes[position..<end]))
                position = end
                changes.append(
                    LogEntry.Change(
                        key: EntityKey(RepositoryID(bitPattern: repository), id), isDeletion: head & 1 == 1))
            }
        }
        return changes
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest > 127 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> UInt64? {
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
