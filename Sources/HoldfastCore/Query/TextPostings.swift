internal import HoldfastEnvironment
internal import HoldfastQuery

/// The documents that a word is in, as they were read from a text index.
struct TextPostings {
    private(set) var documents: [UInt64] = []
    /// The sums of the word's weights.
    private(set) var weights: [UInt64] = []
    /// Where the gaps between each document's positions begin; none where positions are not wanted.
    private var starts: [Int] = []
    /// As the rows have them: of most documents nobody asks for them.
    private var gaps: [UInt8] = []
    /// The last position of the newest document before a byte of the gaps, as far as it had to be known.
    private var reached: (byte: Int, position: Int64) = (0, 0)
    private let wantsPositions: Bool

    init(wantsPositions: Bool) { self.wantsPositions = wantsPositions }

    mutating func add(_ reader: inout PostingReader) throws(HoldfastError) {
        // A posting takes two bytes at least.
        let most = reader.bytes.count / 2
        try documents.askToGrow(by: most)
        try weights.askToGrow(by: most)
        if wantsPositions {
            try starts.askToGrow(by: most)
            // Where a document goes on, a gap may become longer.
            try gaps.askToGrow(by: 10 * most)
        }
        while try reader.next() {
            let document = reader.place.document
            var rest = reader.rest
            if documents.last == document {
                weights[weights.count - 1] &+= reader.weight
                if wantsPositions { rest = goOn(with: rest, of: reader) }
            } else {
                documents.append(document)
                weights.append(reader.weight)
                if wantsPositions {
                    starts.append(gaps.count)
                    reached = (gaps.count, 0)
                }
            }
            if wantsPositions { gaps.append(contentsOf: UnsafeRawBufferPointer(rebasing: reader.bytes[rest])) }
        }
    }

    /// The first gap of a further fragment is one from the start; behind the last fragment's positions it is to be one from
    /// the last of them. Adds that one, and answers what is behind it.
    private mutating func goOn(with rest: Range<Int>, of reader: PostingReader) -> Range<Int> {
        var fragment = NumberReader(reader.bytes, from: rest.lowerBound)
        guard let first = fragment.next() else { return rest }
        let last = gaps.withBytes { gaps in
            var reader = NumberReader(gaps, from: reached.byte)
            var last = reached.position
            while let gap = reader.next() { last &+= Int64(bitPattern: gap) }
            return last
        }
        reached = (gaps.count, last)
        gaps.appendNumber(first &- UInt64(bitPattern: last))
        return fragment.position..<rest.upperBound
    }

    /// Goes through the positions that a document has.
    struct Positions {
        private let gaps: [UInt8]
        private var byte: Int
        private let end: Int
        private var position: Int64 = 0

        fileprivate init(_ gaps: [UInt8], _ range: Range<Int>) {
            self.gaps = gaps
            (byte, end) = (range.lowerBound, range.upperBound)
        }

        mutating func next() -> Int64? {
            var (gap, shift): (UInt64, UInt64) = (0, 0)
            while byte < end {
                let next = gaps[byte]
                byte += 1
                gap |= UInt64(next & 0x7F) << shift
                shift += 7
                if next < 0x80 {
                    position &+= Int64(bitPattern: gap)
                    return position
                }
            }
            return nil
        }
    }

    func positions(at place: Int) -> Positions {
        Positions(gaps, starts[place]..<(place + 1 < starts.count ? starts[place + 1] : gaps.count))
    }

    /// The first place at or behind one at which a document is, or a greater one.
    func place(of document: UInt64, from place: Int) -> Int {
        Self.place(of: document, in: documents, from: place)
    }

    /// In steps that double: whoever goes along two lists comes soon to where both are.
    static func place(of document: UInt64, in documents: [UInt64], from place: Int) -> Int {
        var (low, step) = (place, 1)
        while low + step < documents.count, documents[low + step] < document {
            low += step
            step *= 2
        }
        let high = min(low + step, documents.count)
        return documents[low..<high].partitioningIndex { $0 >= document }
    }

    // MARK: Lists of documents, in order

    static func both(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        let (few, many) = left.count < right.count ? (left, right) : (right, left)
        var place = 0
        return few.filter { document in
            place = self.place(of: document, in: many, from: place)
            return place < many.count && many[place] == document
        }
    }

    static func first(_ left: [UInt64], without right: [UInt64]) -> [UInt64] {
        var place = 0
        return left.filter { document in
            place = self.place(of: document, in: right, from: place)
            return place == right.count || right[place] != document
        }
    }

    static func any(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        if left.isEmpty { return right }
        if right.isEmpty { return left }
        var all: [UInt64] = []
        all.reserveCapacity(left.count + right.count)
        var (first, second) = (0, 0)
        while first < left.count, second < right.count {
            let (one, other) = (left[first], right[second])
            all.append(min(one, other))
            if one <= other { first += 1 }
            if other <= one { second += 1 }
        }
        all += left[first...]
        all += right[second...]
        return all
    }
}

extension WordSearch.IndexedPhrase {
    /// The documents that have its words where it has them.
    func documents(in postings: [TextPostings]) -> [UInt64] {
        guard words.count > 1 else { return words.first.map { postings[$0.term].documents } ?? [] }
        // Beginning with the rarest.
        let words = words.sorted { postings[$0.term].documents.count < postings[$1.term].documents.count }
        var places = words.map { _ in 0 }
        var found: [UInt64] = []
        for (place, document) in postings[words[0].term].documents.enumerated() {
            places[0] = place
            var isEverywhere = true
            for number in words.indices.dropFirst() where isEverywhere {
                let list = postings[words[number].term]
                places[number] = list.place(of: document, from: places[number])
                guard places[number] < list.documents.count else { return found }
                isEverywhere = list.documents[places[number]] == document
            }
            if isEverywhere, isTogether(words, postings, places) { found.append(document) }
        }
        return found
    }

    private func isTogether(
        _ words: [(term: Int, place: Int)], _ postings: [TextPostings], _ places: [Int]
    ) -> Bool {
        var rarest = postings[words[0].term].positions(at: places[0])
        var others = words.indices.dropFirst().map { number in
            (
                positions: postings[words[number].term].positions(at: places[number]), reached: Int64.min,
                distance: Int64(words[number].place - words[0].place)
            )
        }
        next: while let position = rarest.next() {
            for number in others.indices {
                let wanted = position &+ others[number].distance
                while others[number].reached < wanted {
                    guard let reached = others[number].positions.next() else { return false }
                    others[number].reached = reached
                }
                if others[number].reached > wanted { continue next }
            }
            return true
        }
        return false
    }
}
