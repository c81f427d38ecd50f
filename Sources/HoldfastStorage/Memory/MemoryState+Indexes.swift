package import HoldfastEnvironment
package import HoldfastQuery

/// The indexes of a store in memory: all their entries in one map.
extension MemoryState {
    package struct IndexEntry: Comparable, Sendable {
        package var index: IndexID
        package var key: [UInt8]
        package var id: EntityID

        package init(index: IndexID, key: [UInt8], id: EntityID) {
            self.index = index
            self.key = key
            self.id = id
        }

        package static func < (left: Self, right: Self) -> Bool {
            if left.index != right.index { return left.index < right.index }
            let order = left.key.withBytes { a in right.key.withBytes { b in compareBytes(a, b) } }
            return order == 0 ? left.id < right.id : order < 0
        }

        package static func == (left: Self, right: Self) -> Bool { !(left < right) && !(right < left) }
    }

    /// The smallest id, which none has.
    private static let noID = EntityID(unchecked: [])

    /// See `StorageSnapshot.scan`.
    package func scan(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try walk(scan) { entry throws(HoldfastError) in
            if entry.id.bytes.isEmpty {
                guard scan.parts == .key else { return true }
                return try entry.key.withBytes { key throws(HoldfastError) in
                    try body(key, EntityView(id: UnsafeRawBufferPointer(start: nil, count: 0), number: 0))
                }
            }
            guard let entity = entities[EntityKey(scan.repository, entry.id)] else { return true }
            return try entry.key.withBytes { key throws(HoldfastError) in
                try entity.lend(id: entry.id) { view throws(HoldfastError) in try body(key, view) }
            }
        }
    }

    /// Visits the entries of a scan until `visit` answers false.
    package func walk(
        _ scan: IndexScan, _ visit: (IndexEntry) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        if scan.isReversed {
            let end = IndexEntry(
                index: scan.index, key: scan.after?.key ?? scan.range.upper, id: scan.after?.id ?? Self.noID)
            try indexEntries.walkBackward(before: end) { (entry, _) throws(HoldfastError) in
                guard entry.index == scan.index, !entry.key.lexicographicallyPrecedes(scan.range.lower) else {
                    return false
                }
                return try visit(entry)
            }
        } else {
            let start = IndexEntry(
                index: scan.index, key: scan.after?.key ?? scan.range.lower, id: scan.after?.id ?? Self.noID)
            try indexEntries.walk(from: start) { (entry, _) throws(HoldfastError) in
                if entry == start { return true }
                guard entry.index == scan.index, entry.key.lexicographicallyPrecedes(scan.range.upper) else {
                    return false
                }
                return try visit(entry)
            }
        }
    }

    /// See `StorageWrite.ids`.
    package func ids(
        under key: [UInt8], of index: IndexID, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try indexEntries.walk(from: IndexEntry(index: index, key: key, id: Self.noID)) {
            (entry, _) throws(HoldfastError) in
            guard entry.index == index, entry.key == key else { return false }
            return try entry.id.bytes.withBytes(body)
        }
    }

    /// See `StorageWrite.lastKeys`.
    package func lastKeys(
        in ranges: [KeyRange], of index: IndexID,
        _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        for (place, range) in ranges.enumerated() {
            let scan = IndexScan(index: index, repository: 0, range: range, isReversed: true)
            try walk(scan) { entry throws(HoldfastError) in
                try entry.key.withBytes { key throws(HoldfastError) in try body(place, key) }
                return false
            }
        }
    }

    /// See `StorageWrite.removeEntries`.
    package mutating func removeEntries(of index: IndexID, limit: Int) -> Bool {
        var entries: [IndexEntry] = []
        indexEntries.walk(from: IndexEntry(index: index, key: [], id: Self.noID)) { entry, _ in
            guard entry.index == index else { return false }
            entries.append(entry)
            return entries.count < limit
        }
        for entry in entries { indexEntries[entry] = nil }
        return entries.count < limit
    }

    package mutating func applyIndexes(_ batch: WriteBatch) {
        for record in batch.indexes {
            if let known = indexes.firstIndex(where: { $0.id == record.id }) {
                indexes[known] = record
            } else {
                indexes.append(record)
            }
        }
        for index in batch.removedIndexes { _ = removeEntries(of: index, limit: .max) }
        indexes.removeAll { batch.removedIndexes.contains($0.id) }
        for (index, entity) in batch.unindexed {
            var entries: [IndexEntry] = []
            indexEntries.walk(from: IndexEntry(index: index, key: [], id: Self.noID)) { entry, _ in
                guard entry.index == index else { return false }
                if entry.id == entity.id { entries.append(entry) }
                return true
            }
            for entry in entries { indexEntries[entry] = nil }
        }
        for change in batch.indexEntries {
            let entry = IndexEntry(index: change.index, key: change.key, id: change.entity.id)
            indexEntries[entry] = change.isRemoval ? nil : ()
        }
    }
}
