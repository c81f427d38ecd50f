internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Finds what a text index tells of its documents, which are named by their numbers: see TextRows.swift.
struct TextDocuments {
    let index: Index
    let snapshot: any StorageSnapshot

    /// Rather than one for each row that is wanted, one walk reads all rows between the first and the last, where so many
    /// documents at most lie there for each that is wanted: some more than in a row.
    private static let density: UInt64 = 128

    /// Visits documents, whose numbers are in order: the place among them, how many words it has, and its id, which stays empty
    /// `withoutIDs`. Those that the index does not have are left out.
    func visit(
        _ numbers: ArraySlice<UInt64>, withoutIDs: Bool = false,
        _ visit: (Int, UInt64, [UInt8]) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        var place = numbers.startIndex
        while place < numbers.endIndex {
            let first = numbers[place]
            let span = numbers[numbers.endIndex - 1] - first
            let isDense = span / Self.density <= UInt64(numbers.endIndex - place)
            var range = TextRows.range(of: TextRows.documents, upTo: TextRows.Place(document: first))
            var row: [UInt8]?
            var scan = scan(range, isReversed: true)
            try snapshot.scan(scan) { key, _ throws(HoldfastError) in
                row = Array(key)
                return false
            }
            guard let row else { return }
            // Nothing lends while the next is sought.
            try row.withBytes { row throws(HoldfastError) in try take(row, numbers, withoutIDs, &place, visit) }
            guard isDense, place < numbers.endIndex else {
                // What is in no row behind this one is nowhere.
                if place < numbers.endIndex, numbers[place] == first { place += 1 }
                continue
            }
            range = TextRows.range(of: TextRows.documents)
            range.lower = row + [0]
            scan = self.scan(range)
            try snapshot.scan(scan) { key, _ throws(HoldfastError) in
                try take(key, numbers, withoutIDs, &place, visit)
                return place < numbers.endIndex
            }
            return
        }
    }

    /// Lends the entities of documents, whose numbers are in order, until `body` answers false; each under a key by which a walk
    /// goes on behind it. With `keysAlone` they have no texts.
    func walk(
        _ documents: [UInt64], keysAlone: Bool, after: IndexScan.Position?,
        _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        var place = 0
        if let after {
            guard let last = after.key.withBytes({ NumberReader($0).first }) else { throw index.damage }
            place = documents.partitioningIndex { $0 > last }
        }
        var count = Self.firstStretch
        while place < documents.count {
            let stretch = documents[place..<min(documents.count, place + count)]
            place = stretch.endIndex
            var (numbers, keys): ([UInt64], [EntityKey]) = ([], [])
            try visit(stretch) { place, _, id in
                numbers.append(documents[place])
                keys.append(EntityKey(index.record.repository, EntityID(unchecked: id)))
            }
            var bytes = 0
            let goesOn = try lend(keys, keysAlone: keysAlone) { place, view throws(HoldfastError) in
                bytes += view.body.count
                var key: [UInt8] = []
                key.appendNumber(numbers[place])
                return try key.withBytes { key throws(HoldfastError) in try body(key, view) }
            }
            if !goesOn { return }
            count = min(2 * count, Self.stretch)
            if snapshot.fetchesTogether { count = min(count, max(1, Self.stretchBytes / (1 + bytes / stretch.count))) }
        }
    }

    /// So many are found at once, and of a server read at once, which is one question; first fewer, because who reads may want
    /// no more, and fewer where they are long.
    private static let firstStretch = 16
    private static let stretch = 128
    private static let stretchBytes = 1 << 20

    /// Lends entities, in the order of their keys, and answers whether `body` wants more. They are read ahead only where that
    /// spares questions: they may be long, and who reads may want no more than the first.
    private func lend(
        _ keys: [EntityKey], keysAlone: Bool,
        _ body: (Int, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool {
        var goesOn = true
        if keysAlone {
            let none = UnsafeRawBufferPointer(start: nil, count: 0)
            for (place, key) in keys.enumerated() where goesOn {
                goesOn = try key.id.bytes.withBytes { id throws(HoldfastError) in
                    try body(place, EntityView(id: id, version: 0, body: none))
                }
            }
            return goesOn
        }
        guard snapshot.fetchesTogether else {
            for (place, key) in keys.enumerated() where goesOn {
                _ = try snapshot.fetch(key) { view throws(HoldfastError) in goesOn = try body(place, view) }
            }
            return goesOn
        }
        var entities: [(version: CommitSequence, body: [UInt8], damage: String?)?] = keys.map { _ in nil }
        try snapshot.fetch(keys) { place, view throws(HoldfastError) in
            entities[place] = (view.version, try Array(asking: view.body), view.damage)
        }
        for (place, entity) in entities.enumerated() where goesOn {
            guard let entity else { continue }
            goesOn = try keys[place].id.bytes.withBytes { id throws(HoldfastError) in
                try entity.body.withBytes { text throws(HoldfastError) in
                    try body(place, EntityView(id: id, version: entity.version, body: text, damage: entity.damage))
                }
            }
        }
        return goesOn
    }

    private func scan(_ range: KeyRange, isReversed: Bool = false) -> IndexScan {
        IndexScan(
            index: index.record.id, repository: index.record.repository, range: range, isReversed: isReversed,
            parts: .key)
    }

    /// Visits those that are in a row.
    private func take(
        _ row: UnsafeRawBufferPointer, _ numbers: ArraySlice<UInt64>, _ withoutIDs: Bool, _ place: inout Int,
        _ visit: (Int, UInt64, [UInt8]) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        var reader = try PostingReader(row, of: index, passingOverIDs: withoutIDs)
        while place < numbers.endIndex, try reader.next() {
            while place < numbers.endIndex, numbers[place] < reader.place.document { place += 1 }
            if place < numbers.endIndex, numbers[place] == reader.place.document {
                try visit(place, reader.count, reader.id)
                place += 1
            }
        }
    }
}
