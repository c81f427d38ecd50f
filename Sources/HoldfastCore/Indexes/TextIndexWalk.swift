package import HoldfastEnvironment
internal import HoldfastQuery
package import HoldfastStorage

/// Goes through all that a text index has, as what each entity has in it by itself: for who holds the index against its
/// entities.
package struct TextIndexWalk {
    private let index: Index
    private let snapshot: any StorageSnapshot

    package init(_ index: Index, on snapshot: any StorageSnapshot) {
        self.index = index
        self.snapshot = snapshot
    }

    /// Visits what entities have. What belongs to none has an empty id; so has what tells of the index itself and is not
    /// what the rest makes it.
    package func visit(
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        let nobody = UnsafeRawBufferPointer(start: nil, count: 0)
        var names: [UInt64: EntityID] = [:]
        var totals = TextRows.Totals()
        try each(in: TextRows.range(of: TextRows.documents)) { key throws(HoldfastError) in
            var reader = try PostingReader(key, of: index)
            while try reader.next() {
                let id = EntityID(unchecked: reader.id)
                try names.askToGrow()
                names[reader.place.document] = id
                totals.totals.entities += 1
                totals.totals.length &+= reader.count
                totals.next = max(totals.next, reader.place.document + 1)
                var own: [UInt8] = [0, 0]
                own.appendNumber(reader.count)
                try own.withBytes { own throws(HoldfastError) in
                    try id.bytes.withBytes { id throws(HoldfastError) in try visit(own, id) }
                }
            }
        }
        var named = 0
        var last: [UInt8]?
        try each(in: TextRows.allNames) { key throws(HoldfastError) in
            var reader = try NameReader(key, of: index)
            while try reader.next() {
                let isInOrder = last.map { $0.precedes(reader.id) } ?? true
                if isInOrder, names[reader.number]?.bytes == reader.id { named += 1 } else { try visit(key, nobody) }
                last = reader.id
            }
        }
        let missing = names.count - named
        for _ in 0..<missing { try visit(nobody, nobody) }
        try each(in: TextRows.allTotals) { key throws(HoldfastError) in
            let known = TextRows.Totals(key)
            if known?.totals != totals.totals || known!.next < totals.next { try visit(key, nobody) }
        }
        var key: [UInt8] = []
        let postings = KeyRange(lower: [1], upper: TextRows.allPostings.upper)
        try each(in: postings) { row throws(HoldfastError) in
            var reader = try PostingReader(row, of: index)
            while try reader.next() {
                key.removeAll(keepingCapacity: true)
                key += row[..<reader.termLength]
                key.append(0)
                key.appendOrdered(reader.place.fragment)
                if reader.isPlain { key.append(2) }
                key += row[reader.body]
                let id = names[reader.place.document]?.bytes ?? []
                try key.withBytes { key throws(HoldfastError) in
                    try id.withBytes { id throws(HoldfastError) in try visit(key, id) }
                }
            }
        }
    }

    private func each(
        in range: KeyRange, _ visit: (UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        let scan = IndexScan(
            index: index.record.id, repository: index.record.repository, range: range, parts: .key)
        try snapshot.scanAsking(scan) { key, _ throws(HoldfastError) in
            try visit(key)
            return true
        }
    }
}
