internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What becomes of postings, and of documents, and from that of the rows that hold them; see TextRows.swift.
struct PostingEdits: Sendable {
    /// Lends of each range of an index's keys the greatest key in it, with the range's index, where there is one.
    typealias LastKeys = (
        [KeyRange], (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Void

    private struct Edit {
        var term: Range<Int>
        var place: TextRows.Place
        /// Of a posting that is taken away nil.
        var body: Range<Int>?
        var order: Int
    }

    private var bytes: [UInt8] = []
    private var edits: [Edit] = []

    var isEmpty: Bool { edits.isEmpty }
    var byteCount: Int { bytes.count + edits.count * MemoryLayout<Edit>.stride }

    /// A term, whose postings are then told.
    mutating func addTerm(_ term: some Collection<UInt8>) throws(HoldfastError) -> Range<Int> {
        try bytes.askToGrow(by: term.count)
        let start = bytes.count
        bytes += term
        return start..<bytes.count
    }

    /// `body` is that of a posting which is not plain; of a document its number of words and its whole id. What is said of a place last counts.
    mutating func set(
        _ term: Range<Int>, _ place: TextRows.Place, _ body: some Collection<UInt8>
    ) throws(HoldfastError) {
        try bytes.askToGrow(by: body.count)
        try edits.askToGrow()
        let start = bytes.count
        bytes += body
        edits.append(Edit(term: term, place: place, body: start..<bytes.count, order: edits.count))
    }

    mutating func remove(_ term: Range<Int>, _ place: TextRows.Place) throws(HoldfastError) {
        try edits.askToGrow()
        edits.append(Edit(term: term, place: place, body: nil, order: edits.count))
    }

    /// Visits what is said: the term, the place, and the body.
    func visitAll(
        _ visit: (UnsafeRawBufferPointer, TextRows.Place, UnsafeRawBufferPointer?) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try bytes.withBytes { bytes throws(HoldfastError) in
            for edit in edits {
                try visit(
                    UnsafeRawBufferPointer(rebasing: bytes[edit.term]), edit.place,
                    edit.body.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) })
            }
        }
    }

    // MARK: Rows

    /// What becomes of rows.
    struct Outcome {
        var removed: [[UInt8]] = []
        var added: [[UInt8]] = []
        /// Of documents, how many more there are, and how many words more they have.
        var documents: Int64 = 0
        var words: Int64 = 0
    }

    /// Reads the rows that are concerned, in as many rounds as the one with most of a term needs.
    mutating func outcome(for index: Index, _ lastKeys: LastKeys) throws(HoldfastError) -> Outcome {
        sort()
        var outcome = Outcome()
        var groups = groups()
        while !groups.isEmpty {
            let ranges = groups.map { group in
                TextRows.range(of: Array(bytes[edits[group.lowerBound].term]), upTo: edits[group.upperBound - 1].place)
            }
            var rest = groups.map { $0.lowerBound..<$0.lowerBound }
            var isMerged = [Bool](repeating: false, count: groups.count)
            try lastKeys(ranges) { number, key throws(HoldfastError) in
                let group = groups[number]
                let reader = try PostingReader(key, of: index)
                let first = edits[group].partitioningIndex { $0.place >= reader.head }
                rest[number] = group.lowerBound..<first
                isMerged[number] = true
                if first < group.upperBound { try merge(first..<group.upperBound, with: reader, into: &outcome) }
            }
            for (group, isMerged) in zip(groups, isMerged) where !isMerged {
                try merge(group, with: nil, into: &outcome)
            }
            groups = rest.filter { !$0.isEmpty }
        }
        return outcome
    }

    /// By terms and places, each once: what was said last.
    private mutating func sort() {
        bytes.withBytes { bytes in
            edits.sort { left, right in
                if left.term != right.term {
                    let order = compareBytes(
                        UnsafeRawBufferPointer(rebasing: bytes[left.term]),
                        UnsafeRawBufferPointer(rebasing: bytes[right.term]))
                    if order != 0 { return order < 0 }
                }
                return left.place == right.place ? left.order < right.order : left.place < right.place
            }
        }
        var kept = 0
        for number in edits.indices {
            let isRepeated = kept > 0 && edits[kept - 1].place == edits[number].place && isSameTerm(kept - 1, number)
            if isRepeated { kept -= 1 }
            edits[kept] = edits[number]
            kept += 1
        }
        edits.removeLast(edits.count - kept)
    }

    private func isSameTerm(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (edits[left].term, edits[right].term)
        return left == right || left.count == right.count && bytes[left] == bytes[right]
    }

    /// Of each term.
    private func groups() -> [Range<Int>] {
        var groups: [Range<Int>] = []
        var start = 0
        for number in edits.indices where number + 1 == edits.count || !isSameTerm(number, number + 1) {
            groups.append(start..<number + 1)
            start = number + 1
        }
        return groups
    }

    /// A posting of a row as it will be.
    private struct Item {
        var place: TextRows.Place
        var isPlain: Bool
        var isEdit: Bool
        var body: Range<Int>
    }

    private func merge(
        _ range: Range<Int>, with old: PostingReader?, into outcome: inout Outcome
    ) throws(HoldfastError) {
        let isOfDocuments = edits[range.lowerBound].term.isEmpty
        var items: [Item] = []
        // Each as an edit has it: what a row has of an id depends on the one before.
        var documents: [UInt8] = []
        var next = range.lowerBound
        func takeEdit() {
            if let body = edits[next].body {
                // The first byte of a posting that is plain says: one word of weight 1.
                let isPlain = !isOfDocuments && bytes[body.lowerBound] == 2
                if isOfDocuments {
                    documents += bytes[body]
                    items.append(
                        Item(
                            place: edits[next].place, isPlain: false, isEdit: true,
                            body: documents.count - body.count..<documents.count))
                    outcome.documents += 1
                    outcome.words &+= Int64(truncatingIfNeeded: words(body))
                } else {
                    items.append(
                        Item(
                            place: edits[next].place, isPlain: isPlain, isEdit: true,
                            body: isPlain ? body.dropFirst() : body))
                }
            }
            next += 1
        }
        var isBehind = true
        if var reader = old {
            while try reader.next() {
                while next < range.upperBound, edits[next].place < reader.place {
                    if edits[next].body != nil { isBehind = false }
                    takeEdit()
                }
                if next < range.upperBound, edits[next].place == reader.place {
                    if isOfDocuments {
                        outcome.documents -= 1
                        outcome.words &-= Int64(truncatingIfNeeded: reader.count)
                    }
                    isBehind = false
                    takeEdit()
                } else {
                    var body = reader.body
                    if isOfDocuments {
                        let start = documents.count
                        documents.appendNumber(reader.count)
                        documents += reader.id
                        body = start..<documents.count
                    }
                    items.append(Item(place: reader.place, isPlain: reader.isPlain, isEdit: false, body: body))
                }
            }
        }
        while next < range.upperBound { takeEdit() }
        let term = Array(bytes[edits[range.lowerBound].term])
        let rows = rows(
            of: term, items, documents, isFirst: old.map { $0.head == .first } ?? true, isBehind: isBehind, old?.bytes)
        if let old {
            let key = Array(old.bytes)
            if rows == [key] { return }
            outcome.removed.append(key)
        }
        outcome.added += rows
    }

    private func words(_ document: Range<Int>) -> UInt64 { Self.document(bytes[document]).words }

    /// What an edit has of a document.
    private static func document(_ body: ArraySlice<UInt8>) -> (words: UInt64, id: ArraySlice<UInt8>) {
        body.withUnsafeBytes { bytes in
            var reader = NumberReader(bytes)
            let words = reader.next() ?? 0
            return (words, body.dropFirst(reader.position))
        }
    }

    /// As few rows as they fit in. Where all that is new is behind what there was, more will come there: then all rows but
    /// the last are full. Otherwise all are equally long, so that there is room in each.
    private func rows(
        of term: [UInt8], _ items: [Item], _ documents: [UInt8], isFirst: Bool, isBehind: Bool,
        _ old: UnsafeRawBufferPointer?
    ) -> [[UInt8]] {
        let head = term.count + 12
        let size = items.reduce(head) { $0 + $1.body.count + 2 }
        let count = (size - head) / max(1, TextRows.blockBytes - head) + 1
        let wanted = isBehind || count == 1 ? TextRows.blockBytes : head + (size - head) / count
        var rows: [[UInt8]] = []
        bytes.withBytes { bytes in
            var row: [UInt8] = []
            var last = TextRows.Place.first
            var id: ArraySlice<UInt8> = []
            for item in items {
                let isTooLong = row.count + item.body.count + 5 > TextRows.blockBytes
                if row.isEmpty || isTooLong || row.count >= wanted {
                    if !row.isEmpty { rows.append(row) }
                    last = rows.isEmpty && row.isEmpty && isFirst ? .first : item.place
                    row = TextRows.head(of: term, last)
                    id = []
                }
                row.appendNumber((item.place.document - last.document) << 1 | (item.isPlain ? 1 : 0))
                if term.isEmpty {
                    let (words, next) = Self.document(documents[item.body])
                    row.appendNumber(words)
                    row.appendID(next, behind: id)
                    id = next
                } else {
                    row += UnsafeRawBufferPointer(rebasing: (item.isEdit ? bytes : old!)[item.body])
                }
                last = item.place
            }
            if !row.isEmpty { rows.append(row) }
        }
        return rows
    }
}
