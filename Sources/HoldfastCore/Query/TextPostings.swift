internal import HoldfastEnvironment
internal import HoldfastQuery

/// The documents that a word is in, as they were read from a text index.
struct TextPostings {
    private(set) var documents: [UInt64] = []
    /// The sums of the word's weights.
    private(set) var weights: [UInt64] = []
    /// Where each document's positions begin; none where they are not wanted.
    private var starts: [Int] = []
    private var positions: [UInt32] = []
    private let wantsPositions: Bool

    init(wantsPositions: Bool) { self.wantsPositions = wantsPositions }

    mutating func add(_ reader: inout PostingReader) throws(HoldfastError) {
        while try reader.next() {
            let document = reader.place.document
            if documents.last == document {
                weights[weights.count - 1] &+= reader.weight
            } else {
                try documents.askToGrow()
                try weights.askToGrow()
                documents.append(document)
                weights.append(reader.weight)
                if wantsPositions { starts.append(positions.count) }
            }
            if wantsPositions {
                try positions.askToGrow(by: Int(reader.count))
                reader.readPositions(into: &positions)
            }
        }
    }

    func positions(at place: Int) -> ArraySlice<UInt32> {
        positions[starts[place]..<(place + 1 < starts.count ? starts[place + 1] : positions.count)]
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
        let positions = zip(words, places).map { postings[$0.term].positions(at: $1) }
        var next = positions.map(\.startIndex)
        return positions[0].contains { position in
            for number in words.indices.dropFirst() {
                let wanted = Int64(position) + Int64(words[number].place - words[0].place)
                while next[number] < positions[number].endIndex, Int64(positions[number][next[number]]) < wanted {
                    next[number] += 1
                }
                guard next[number] < positions[number].endIndex, Int64(positions[number][next[number]]) == wanted
                else { return false }
            }
            return true
        }
    }
}
