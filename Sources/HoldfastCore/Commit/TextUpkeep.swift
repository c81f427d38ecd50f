package import HoldfastEnvironment
package import HoldfastQuery
internal import HoldfastStorage

/// Keeps the rows of one text index right; see TextRows.swift. It lives for one batch, gathers what becomes of postings, and
/// reads the rows that are concerned at its end.
package struct TextUpkeep {
    typealias LastKeys = PostingEdits.LastKeys

    private let index: Index
    private var edits = PostingEdits()
    private var names = NameEdits()
    /// Those that are known of this batch's entities; 0 of entities without one.
    private var numbers: [EntityID: UInt64] = [:]
    /// Those that the storage has.
    private var stored: [EntityID: UInt64] = [:]
    /// Whether an entity has a number at the end.
    private var isThere: [EntityID: Bool] = [:]
    private var totals: (old: [UInt8]?, new: TextRows.Totals)?

    package init(_ index: Index) { self.index = index }

    // MARK: Numbers

    /// Those of entities, and new ones of those that have none, in their order.
    private mutating func number(
        _ ids: [EntityID], isBuild: Bool = false, _ lastKeys: LastKeys
    ) throws(HoldfastError) {
        try look(for: ids, isBuild: isBuild, lastKeys)
        for id in ids where numbers[id] == 0 {
            try readTotals(lastKeys)
            numbers[id] = totals!.new.next
            totals!.new.next += 1
        }
    }

    private mutating func look(
        for ids: [EntityID], isBuild: Bool = false, _ lastKeys: LastKeys
    ) throws(HoldfastError) {
        var unknown = ids.filter { numbers[$0] == nil }
        if unknown.isEmpty { return }
        unknown.sort()
        try numbers.askToGrow(by: unknown.count)
        var found: [(EntityID, UInt64)] = []
        try names.look(for: unknown, isBuild: isBuild, in: index, lastKeys) { found.append(($0, $1)) }
        for id in unknown { numbers[id] = 0 }
        for (id, number) in found { (numbers[id], stored[id]) = (number, number) }
    }

    private mutating func readTotals(_ lastKeys: LastKeys) throws(HoldfastError) {
        if totals != nil { return }
        var read: (old: [UInt8]?, new: TextRows.Totals) = (nil, TextRows.Totals())
        try lastKeys([TextRows.allTotals]) { _, key throws(HoldfastError) in
            guard let known = TextRows.Totals(key) else { throw index.damage }
            read = (Array(key), known)
        }
        totals = read
    }

    private mutating func enter(_ id: EntityID, _ number: UInt64, words: UInt64) throws(HoldfastError) {
        let term = try edits.addTerm(TextRows.documents)
        var body: [UInt8] = []
        body.appendNumber(words)
        body += id.bytes
        try edits.set(term, TextRows.Place(document: number), body)
        isThere[id] = true
    }

    private mutating func leave(_ id: EntityID, _ number: UInt64) throws(HoldfastError) {
        try edits.remove(edits.addTerm(TextRows.documents), TextRows.Place(document: number))
        isThere[id] = false
    }

    // MARK: Making anew

    /// Adds an entity to an index that has no rows yet.
    package mutating func add(_ keys: IndexKeys, of id: EntityID) throws(HoldfastError) {
        try number([id], Self.nothing)
        for key in keys.keys { try apply(key, numbers[id]!, id, isRemoval: false) }
    }

    /// The rows of what was added.
    package mutating func rows() throws(HoldfastError) -> [[UInt8]] { try complete([], Self.nothing).added }

    private static func nothing(
        in ranges: [KeyRange], _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {}

    // MARK: Building

    /// Gives entities numbers, but for those that are not current, and answers them.
    mutating func build(
        _ documents: TextRun.Documents, _ isCurrent: [Bool], _ lastKeys: LastKeys
    ) throws(HoldfastError) -> [UInt64] {
        let current = documents.entities.indices.filter { isCurrent[$0] }
        try number(current.map { documents.entities[$0].id }, isBuild: true, lastKeys)
        var answer = [UInt64](repeating: 0, count: documents.entities.count)
        for place in current {
            let id = documents.entities[place].id
            answer[place] = numbers[id]!
            try enter(id, answer[place], words: documents.lengths[place])
        }
        return answer
    }

    /// Adds the postings of those entities that are current.
    mutating func build(
        _ postings: PostingEdits, _ documents: TextRun.Documents, _ isCurrent: (Int) -> Bool
    ) throws(HoldfastError) {
        var edits = edits
        self.edits = PostingEdits()
        defer { self.edits = edits }
        var (last, term): (UnsafeRawPointer?, Range<Int>) = (nil, 0..<0)
        try postings.visitAll { bytes, place, body throws(HoldfastError) in
            let document = Int(place.document) - 1
            guard let body, documents.numbers[document] > 0, isCurrent(document) else { return }
            if bytes.baseAddress != last {
                last = bytes.baseAddress
                term = try edits.addTerm(bytes)
            }
            try edits.set(
                term, TextRows.Place(document: documents.numbers[document], fragment: place.fragment), body)
        }
    }

    // MARK: Changing

    /// What an entity has by itself no longer, and has from now on; see TextTerms.swift.
    struct Change {
        let id: EntityID
        var removed: [[UInt8]]
        var added: [[UInt8]]
        /// Whether what it had is not known.
        var isUnknown = false
    }

    /// Answers what becomes of rows: what goes, and what comes, each in order.
    mutating func complete(
        _ changes: [Change], _ lastKeys: LastKeys
    ) throws(HoldfastError) -> (removed: [[UInt8]], added: [[UInt8]]) {
        try look(for: changes.map(\.id), lastKeys)
        try number(changes.filter { !$0.added.isEmpty }.map(\.id), lastKeys)
        for change in changes {
            // What has none has nothing to lose.
            guard let number = numbers[change.id], number > 0 else { continue }
            if change.isUnknown {
                if stored[change.id] != nil { try removeAll(of: number, lastKeys) }
                try leave(change.id, number)
            }
            for key in change.removed { try apply(key, number, change.id, isRemoval: true) }
            for key in change.added { try apply(key, number, change.id, isRemoval: false) }
        }
        if edits.isEmpty && totals == nil { return ([], []) }
        var outcome = try edits.outcome(for: index, lastKeys)
        let renamed = isThere.filter { id, isThere in isThere != (stored[id] != nil) }.keys.sorted()
        let names = try names.outcome(renamed.map { ($0, isThere[$0]! ? numbers[$0]! : nil) }, in: index)
        outcome.removed += names.removed
        outcome.added += names.added
        if outcome.documents != 0 || outcome.words != 0 { try readTotals(lastKeys) }
        if var (old, new) = totals {
            new.totals.entities = UInt64(clamping: Int64(clamping: new.totals.entities) + outcome.documents)
            new.totals.length = UInt64(clamping: Int64(clamping: new.totals.length) &+ outcome.words)
            if new.key != old {
                if let old { outcome.removed.append(old) }
                old = nil
                outcome.added.append(new.key)
            }
        }
        return (Self.ordered(outcome.removed), Self.ordered(outcome.added))
    }

    private mutating func apply(
        _ key: [UInt8], _ number: UInt64, _ id: EntityID, isRemoval: Bool
    ) throws(HoldfastError) {
        guard let (range, fragment, body) = TextTerms.parts(of: key) else { throw index.damage }
        if !range.isEmpty {
            let term = try edits.addTerm(key[range])
            let place = TextRows.Place(document: number, fragment: fragment)
            if isRemoval { try edits.remove(term, place) } else { try edits.set(term, place, key[body]) }
        } else if isRemoval {
            try leave(id, number)
        } else {
            let words = key.withBytes { NumberReader($0, from: body.lowerBound).first }
            guard let words else { throw index.damage }
            try enter(id, number, words: words)
        }
    }

    /// Takes the postings of a document away whose words nobody knows: all rows are looked at.
    private mutating func removeAll(of number: UInt64, _ lastKeys: LastKeys) throws(HoldfastError) {
        var edits = edits
        self.edits = PostingEdits()
        defer { self.edits = edits }
        var range = TextRows.allPostings
        while true {
            var first: [UInt8]?
            try lastKeys([range]) { _, key throws(HoldfastError) in
                first = Array(key)
                var reader = try PostingReader(key, of: index)
                let term = try edits.addTerm(UnsafeRawBufferPointer(rebasing: key[..<reader.termLength]))
                while try reader.next() {
                    if reader.place.document == number, !reader.isOfDocuments { try edits.remove(term, reader.place) }
                }
            }
            guard let first else { return }
            range.upper = first
        }
    }

    private static func ordered(_ keys: [[UInt8]]) -> [[UInt8]] {
        keys.sorted { $0.precedes($1) }
    }
}
