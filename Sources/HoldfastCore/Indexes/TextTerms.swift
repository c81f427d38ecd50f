internal import HoldfastEnvironment
internal import HoldfastQuery

/// Collects the postings of entities, by terms.
///
/// An entity by itself has them as keys, as other indexes have entries; TextUpkeep.swift makes rows of them:
///
///     term 00 fragment body            a posting's
///     00 00 words                      the entity's own
final class TextTerms {
    /// Of one entity.
    static let limit = 100_000
    static let byteLimit = 8 << 20

    private struct Term {
        let bytes: Range<Int>
        /// Finished postings: the document's step, the fragment, the length of the body, the body.
        var postings: [UInt8] = []
        var last: UInt64 = 0
        // Of the document that is read.
        var positions: [UInt8] = []
        var count: UInt64 = 0
        var weight: UInt64 = 0
        var position: UInt64 = 0
        var fragment: UInt64 = 0

        init(bytes: Range<Int>) { self.bytes = bytes }
    }

    private let definition: TextDefinition
    private var bytes: [UInt8] = []
    private var terms: [Term] = []
    /// The numbers of terms by their hashes, -1 for none. Its size is a power of two.
    private var places = [Int32](repeating: -1, count: 64)
    private var hashes: [Int] = []
    /// Those of the document that is read.
    private var touched: [Int32] = []
    /// What they take together, about.
    private(set) var byteCount = 0

    init(_ definition: TextDefinition) { self.definition = definition }

    var count: Int { terms.count }

    /// Takes the words of an entity in, under a number greater than those before. Answers how many there are; nil where it
    /// has more than an index takes: then nothing of it counts, and nothing more can be taken in.
    func add(_ document: UnsafeRawBufferPointer, as number: UInt64) throws(HoldfastError) -> UInt64? {
        var length: UInt64 = 0
        var position: UInt64 = 0
        // The same whatever else was taken in.
        var ownBytes = 0
        try definition.eachWord(in: document) { word, weight, isFirst throws(HoldfastError) in
            position += isFirst ? 2 : 1
            if word.isStopWord || word.bytes.isEmpty { return true }
            length += 1
            let term = try self.number(of: word.bytes)
            if terms[term].count == 0 && terms[term].fragment == 0 {
                touched.append(Int32(term))
                ownBytes += word.bytes.count + 4
            }
            if terms[term].positions.count >= TextRows.fragmentBytes { finish(term, number) }
            let before = terms[term].positions.count
            terms[term].positions.appendNumber(position - terms[term].position)
            ownBytes += terms[term].positions.count - before
            terms[term].position = position
            terms[term].count += 1
            terms[term].weight &+= UInt64(weight)
            return touched.count < Self.limit && ownBytes <= Self.byteLimit
        }
        if touched.count >= Self.limit || ownBytes > Self.byteLimit { return nil }
        try Memory.ask(for: 3 * ownBytes)
        for term in touched {
            finish(Int(term), number)
            terms[Int(term)].fragment = 0
        }
        touched.removeAll(keepingCapacity: true)
        return length
    }

    /// A fragment of a document is complete.
    private func finish(_ number: Int, _ document: UInt64) {
        let before = terms[number].postings.count
        Self.finish(&terms[number], document)
        byteCount += terms[number].postings.count - before
    }

    private static func finish(_ term: inout Term, _ document: UInt64) {
        let hasWeight = term.weight != term.count
        let header = term.count << 1 | (hasWeight ? 1 : 0)
        let size = NumberReader.size(of: header) + (hasWeight ? NumberReader.size(of: term.weight) : 0)
        term.postings.appendNumber(document - term.last)
        term.postings.appendNumber(term.fragment)
        term.postings.appendNumber(UInt64(size + term.positions.count))
        term.postings.appendNumber(header)
        if hasWeight { term.postings.appendNumber(term.weight) }
        term.postings += term.positions
        term.positions.removeAll(keepingCapacity: true)
        term.last = document
        (term.count, term.weight, term.position) = (0, 0, 0)
        term.fragment += 1
    }

    // MARK: Finding terms

    private func number(of term: UnsafeRawBufferPointer) throws(HoldfastError) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: term)
        let hash = hasher.finalize()
        let mask = places.count - 1
        var place = hash & mask
        while places[place] >= 0 {
            let number = Int(places[place])
            if hashes[number] == hash, isTerm(number, term) { return number }
            place = (place + 1) & mask
        }
        try bytes.askToGrow(by: term.count)
        try terms.askToGrow()
        terms.append(Term(bytes: bytes.count..<bytes.count + term.count))
        bytes += term
        hashes.append(hash)
        places[place] = Int32(terms.count - 1)
        byteCount += term.count + MemoryLayout<Term>.stride
        if terms.count * 2 > places.count { try spread() }
        return terms.count - 1
    }

    private func isTerm(_ number: Int, _ term: UnsafeRawBufferPointer) -> Bool {
        let range = terms[number].bytes
        return range.count == term.count
            && bytes.withBytes { compareBytes(UnsafeRawBufferPointer(rebasing: $0[range]), term) == 0 }
    }

    private func spread() throws(HoldfastError) {
        try Memory.ask(for: 8 * places.count)
        places = [Int32](repeating: -1, count: 2 * places.count)
        let mask = places.count - 1
        for (number, hash) in hashes.enumerated() {
            var place = hash & mask
            while places[place] >= 0 { place = (place + 1) & mask }
            places[place] = Int32(number)
        }
    }

    // MARK: Giving back

    /// The numbers of the terms in the order of their bytes.
    func ordered() throws(HoldfastError) -> [Int32] {
        var numbers = Array(terms.indices.map { Int32($0) })
        try bytes.withBytes { bytes throws(HoldfastError) in
            try Interrupt.sort(&numbers) { left, right in
                compareBytes(
                    UnsafeRawBufferPointer(rebasing: bytes[terms[Int(left)].bytes]),
                    UnsafeRawBufferPointer(rebasing: bytes[terms[Int(right)].bytes])) < 0
            }
        }
        return numbers
    }

    func withTerm<Result>(
        _ number: Int32, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let range = terms[Int(number)].bytes
        return try bytes.withBytes { bytes throws(HoldfastError) in
            try body(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    /// Where a walk along a term's postings is.
    struct Position {
        fileprivate var byte = 0
        fileprivate var document: UInt64 = 0

        init() {}
    }

    /// Visits the postings of a term behind a position, until `visit` answers false; answers whether none is left.
    func postings(
        of number: Int32, from position: inout Position,
        _ visit: (TextRows.Place, UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool {
        var reached = position
        defer { position = reached }
        return try terms[Int(number)].postings.withBytes { bytes throws(HoldfastError) in
            var reader = NumberReader(bytes, from: reached.byte)
            while let step = reader.next(), let fragment = reader.next(), let length = reader.next() {
                reached.document += step
                let body = bytes[reader.position..<reader.position + Int(length)]
                reader.position += Int(length)
                reached.byte = reader.position
                let place = TextRows.Place(document: reached.document, fragment: fragment)
                guard try visit(place, UnsafeRawBufferPointer(rebasing: body)) else { return reader.isAtEnd }
            }
            return true
        }
    }

    /// What an entity has by itself, in no order; nil beyond the limits.
    static func keys(
        of document: UnsafeRawBufferPointer, _ definition: TextDefinition
    ) throws(HoldfastError) -> [[UInt8]]? {
        let terms = TextTerms(definition)
        guard let length = try terms.add(document, as: 1) else { return nil }
        var keys: [[UInt8]] = [ownKey(length)]
        try keys.askToGrow(by: terms.count)
        for number in terms.terms.indices {
            var position = Position()
            _ = try terms.postings(of: Int32(number), from: &position) { place, body throws(HoldfastError) in
                var key: [UInt8] = []
                let term = terms.terms[number].bytes
                try Memory.ask(for: term.count + body.count)
                key.reserveCapacity(term.count + 10 + body.count)
                key += terms.bytes[term]
                key.append(0)
                key.appendOrdered(place.fragment)
                key += body
                keys.append(key)
                return true
            }
        }
        return keys
    }

    private static func ownKey(_ length: UInt64) -> [UInt8] {
        var key: [UInt8] = [0, 0]
        key.appendNumber(length)
        return key
    }

    /// The parts of such a key; of the entity's own the term is empty, and the body tells how many words there are.
    static func parts(of key: [UInt8]) -> (term: Range<Int>, fragment: UInt64, body: Range<Int>)? {
        guard let end = key.firstIndex(of: 0) else { return nil }
        return key.withBytes { key in
            var reader = NumberReader(key, from: end + 1)
            return reader.nextOrdered().map { (0..<end, $0, reader.position..<key.count) }
        }
    }
}
