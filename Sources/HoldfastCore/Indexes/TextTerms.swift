internal import HoldfastEnvironment
internal import HoldfastQuery

/// Collects the postings of entities, by terms.
///
/// An entity by itself has them as keys, as other indexes have entries; TextUpkeep.swift makes rows of them:
///
///     term 00 fragment body            a posting's
///     00 00 words                      the entity's own
struct TextTerms {
    /// Of one entity.
    static let limit = 100_000
    static let byteLimit = 8 << 20

    private struct Term {
        let bytes: Range<Int>
        /// The first and the last of its words in the document that is read; -1 for none.
        var first: Int32 = -1
        var last: Int32 = -1
        /// How many postings it has.
        var count: Int32 = 0

        init(bytes: Range<Int>) { self.bytes = bytes }
    }

    /// A word of the document that is read.
    private struct Word {
        let position: UInt32
        let weight: UInt32
        /// The next of its term.
        var next: Int32 = -1
    }

    /// Its fragment and its body end where it says, in `bodies`, and begin where the one before ends.
    private struct Posting {
        let term: Int32
        let document: UInt32
        let end: Int
    }

    private let definition: TextDefinition
    private var bytes: [UInt8] = []
    private var terms: [Term] = []
    /// The numbers of terms by their hashes, -1 for none. Its size is a power of two.
    private var places = [Int32](repeating: -1, count: 64)
    private var hashes: [Int] = []
    private var words: [Word] = []
    /// Those of the document that is read.
    private var touched: [Int32] = []
    /// In the order of the documents.
    private var postings: [Posting] = []
    private var bodies: [UInt8] = []
    /// The numbers of postings in the order of their terms' numbers, and where those of each term begin.
    private var arranged: [Int32] = []
    private var starts: [Int] = []

    init(_ definition: TextDefinition) { self.definition = definition }

    var count: Int { terms.count }

    /// What they take together, about.
    var byteCount: Int {
        bytes.count + bodies.count + terms.count * (MemoryLayout<Term>.stride + 16)
            + postings.count * (MemoryLayout<Posting>.stride + 4)
    }

    /// Takes the words of an entity in, under a number greater than those before. Answers how many there are; nil where it
    /// has more than an index takes: then nothing of it counts, and nothing more can be taken in.
    mutating func add(_ document: UnsafeRawBufferPointer, as number: UInt32) throws(HoldfastError) -> UInt64? {
        var length: UInt64 = 0
        var position: UInt64 = 0
        // The same whatever else was taken in.
        var ownBytes = 0
        let definition = definition
        try definition.eachWord(in: document) { word, weight, isFirst throws(HoldfastError) in
            position += isFirst ? 2 : 1
            if word.isStopWord || word.bytes.isEmpty { return true }
            length += 1
            let place = UInt32(truncatingIfNeeded: position)
            ownBytes += try take(word.bytes, Word(position: place, weight: UInt32(truncatingIfNeeded: weight)))
            return touched.count < Self.limit && ownBytes <= Self.byteLimit
        }
        if touched.count >= Self.limit || ownBytes > Self.byteLimit { return nil }
        // Few bytes more than that has a posting: for its fragment, its number of words, and their weight.
        try bodies.askToGrow(by: 4 * ownBytes)
        try postings.askToGrow(by: touched.count + ownBytes / TextRows.fragmentBytes)
        for term in touched { finish(term, number) }
        touched.removeAll(keepingCapacity: true)
        words.removeAll(keepingCapacity: true)
        return length
    }

    /// Answers how many bytes it adds to what the document has.
    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ word: Word) throws(HoldfastError) -> Int {
        let term = try number(of: bytes)
        let place = Int32(words.count)
        try words.askToGrow()
        let last = terms[term].last
        terms[term].last = place
        var (added, before): (Int, UInt32) = (0, 0)
        if last >= 0 {
            words[Int(last)].next = place
            before = words[Int(last)].position
        } else {
            terms[term].first = place
            touched.append(Int32(term))
            added = bytes.count + 4
        }
        words.append(word)
        return added + NumberReader.size(of: UInt64(word.position &- before))
    }

    /// The document's postings of a term.
    private mutating func finish(_ term: Int32, _ document: UInt32) {
        var next = terms[Int(term)].first
        var fragment: UInt64 = 0
        while next >= 0 {
            let first = next
            var (count, weight, size, last): (UInt64, UInt64, Int, UInt32) = (0, 0, 0, 0)
            while next >= 0, size < TextRows.fragmentBytes {
                let word = words[Int(next)]
                size += NumberReader.size(of: UInt64(word.position &- last))
                (count, weight, last, next) = (count + 1, weight + UInt64(word.weight), word.position, word.next)
            }
            bodies.appendNumber(fragment)
            bodies.appendNumber(count << 1 | (weight != count ? 1 : 0))
            if weight != count { bodies.appendNumber(weight) }
            last = 0
            var place = first
            while place != next {
                let word = words[Int(place)]
                bodies.appendNumber(UInt64(word.position &- last))
                (last, place) = (word.position, word.next)
            }
            postings.append(Posting(term: term, document: document, end: bodies.count))
            terms[Int(term)].count += 1
            fragment += 1
        }
        (terms[Int(term)].first, terms[Int(term)].last) = (-1, -1)
    }

    // MARK: Finding terms

    private mutating func number(of term: UnsafeRawBufferPointer) throws(HoldfastError) -> Int {
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
        if terms.count * 2 > places.count { try spread() }
        return terms.count - 1
    }

    private func isTerm(_ number: Int, _ term: UnsafeRawBufferPointer) -> Bool {
        let range = terms[number].bytes
        return range.count == term.count
            && bytes.withBytes { compareBytes(UnsafeRawBufferPointer(rebasing: $0[range]), term) == 0 }
    }

    private mutating func spread() throws(HoldfastError) {
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

    /// The numbers of the terms in the order of their bytes. From then on their postings can be visited, and nothing more be
    /// taken in.
    mutating func ordered() throws(HoldfastError) -> [Int32] {
        try arrange()
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

    private mutating func arrange() throws(HoldfastError) {
        try Memory.ask(for: 4 * postings.count + 16 * terms.count)
        starts = [0]
        starts.reserveCapacity(terms.count + 1)
        for term in terms { starts.append(starts[starts.count - 1] + Int(term.count)) }
        var next = starts
        arranged = [Int32](repeating: 0, count: postings.count)
        for (number, posting) in postings.enumerated() {
            arranged[next[Int(posting.term)]] = Int32(number)
            next[Int(posting.term)] += 1
        }
    }

    func withTerm<Result>(
        _ number: Int32, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let range = terms[Int(number)].bytes
        return try bytes.withBytes { bytes throws(HoldfastError) in
            try body(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    /// Visits the postings of a term behind the first `passed`, until `visit` answers false, and counts them in; answers whether
    /// none is left.
    func postings(
        of number: Int32, behind passed: inout Int,
        _ visit: (TextRows.Place, UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool {
        let end = starts[Int(number) + 1]
        var place = starts[Int(number)] + passed
        defer { passed = place - starts[Int(number)] }
        try bodies.withBytes { bodies throws(HoldfastError) in
            while place < end {
                let posting = Int(arranged[place])
                place += 1
                let start = posting == 0 ? 0 : postings[posting - 1].end
                var reader = NumberReader(bodies, from: start)
                let fragment = reader.next() ?? 0
                let body = UnsafeRawBufferPointer(rebasing: bodies[reader.position..<postings[posting].end])
                let place = TextRows.Place(document: UInt64(postings[posting].document), fragment: fragment)
                guard try visit(place, body) else { return }
            }
        }
        return place == end
    }

    /// What an entity has by itself, in no order; nil beyond the limits.
    static func keys(
        of document: UnsafeRawBufferPointer, _ definition: TextDefinition
    ) throws(HoldfastError) -> [[UInt8]]? {
        var terms = TextTerms(definition)
        guard let length = try terms.add(document, as: 1) else { return nil }
        try terms.arrange()
        var keys: [[UInt8]] = [ownKey(length)]
        try keys.askToGrow(by: terms.count)
        for number in terms.terms.indices {
            var passed = 0
            _ = try terms.postings(of: Int32(number), behind: &passed) { place, body throws(HoldfastError) in
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
