package import HoldfastEnvironment

/// What `$text` asks for, once it is known of which index: words of which one must be there, phrases that all must, and
/// what must not.
///
///     coffee "dark roast" -decaf -"instant coffee"
///
/// As in MongoDB. Words and the words of phrases are looked for alike; where there is a phrase, what matches has it, and so
/// one of its words. A search without words that count matches nothing. Unlike MongoDB's, a phrase is made of
/// words, not of letters: "dark roast" is in "Dark roasts", where both have one stem, and not in "bedark roaster".
package struct WordSearch: Sendable, Equatable {
    package static let maxWords = 256

    package let definition: TextDefinition
    /// Each once. The first are those that are looked for; then come those that stand in exclusions alone, and stop words
    /// of phrases.
    package private(set) var terms: [[UInt8]] = []
    private var numbers: [[UInt8]: Int] = [:]
    package private(set) var wantedCount = 0
    /// The numbers of terms by what is quickly told of them.
    private var places: [[Int]] = []
    private var phrases: [Phrase] = []
    private var exclusions: [Phrase] = []

    /// The words that are looked for, of which an entity that matches has one.
    package var wanted: ArraySlice<[UInt8]> { terms.prefix(wantedCount) }
    /// Whether whatever has a word that is looked for matches.
    package var isOfWordsAlone: Bool { phrases.isEmpty && exclusions.isEmpty }

    /// What an index tells of a phrase: its words, each with its place in the phrase. Those are left out whose terms stop words
    /// have, too: an index has no stop words.
    package struct IndexedPhrase: Sendable, Equatable {
        package var words: [(term: Int, place: Int)]
        /// Whether none is left out.
        package let isWhole: Bool

        package static func == (left: Self, right: Self) -> Bool {
            left.isWhole == right.isWhole && left.words.elementsEqual(right.words) { $0 == $1 }
        }
    }

    package var indexedPhrases: [IndexedPhrase] { phrases.map(indexed) }
    package var indexedExclusions: [IndexedPhrase] { exclusions.map(indexed) }

    private func indexed(_ phrase: Phrase) -> IndexedPhrase {
        let words = phrase.words.enumerated().filter { !definition.stopTerms.contains(terms[$0.element]) }
        return IndexedPhrase(
            words: words.map { (term: $0.element, place: $0.offset) }, isWhole: words.count == phrase.words.count)
    }

    package init(
        _ text: [UInt8], language: String?, of definition: TextDefinition, what: String
    ) throws(HoldfastError) {
        self.definition = definition
        let words = try WordWalk(
            language: language ?? definition.language, stopWords: definition.foldedStopWords)
        var pieces: [(words: [Word], piece: Piece)] = []
        var count = 0
        for piece in Self.pieces(of: text) {
            var found: [Word] = []
            try Array(text[piece.range]).withBytes { bytes throws(HoldfastError) in
                try words.each(in: bytes) { word in
                    found.append(Word(bytes: Array(word.bytes), isStopWord: word.isStopWord))
                    return count + found.count <= Self.maxWords
                }
            }
            count += found.count
            guard count <= Self.maxWords else {
                throw HoldfastError(
                    .invalidQuery,
                    "\"$search\" of \"$text\" in the \(what) has more than \(Self.maxWords) words: leave some out",
                    detail: Operator.detail("$text", location: nil))
            }
            if !found.isEmpty { pieces.append((found, piece)) }
        }
        for (words, piece) in pieces where !piece.isExcluded {
            for word in words where !word.isStopWord { _ = number(word.bytes) }
        }
        wantedCount = terms.count
        for (words, piece) in pieces {
            // Of several words behind one "-", as in -dark-roast, it is where they stand together that is meant.
            if piece.isExcluded {
                if piece.isPhrase || !words.contains(where: \.isStopWord) {
                    exclusions.append(Phrase(words.map { number($0.bytes) }))
                } else {
                    let counted = words.filter { !$0.isStopWord }
                    if !counted.isEmpty { exclusions.append(Phrase(counted.map { number($0.bytes) })) }
                }
            } else if piece.isPhrase {
                phrases.append(Phrase(words.map { number($0.bytes) }))
            }
        }
        places = Array(repeating: [], count: Self.placeCount)
        for number in terms.indices { terms[number].withBytes { places[Self.place(of: $0)].append(number) } }
    }

    private static let placeCount = 64

    private static func place(of term: UnsafeRawBufferPointer) -> Int {
        guard let first = term.first, let last = term.last else { return 0 }
        return (Int(first) &* 7 &+ Int(last) &* 3 &+ term.count) % placeCount
    }

    /// The number of a term; nil where it is none of those that are asked for.
    private func number(of term: UnsafeRawBufferPointer) -> Int? {
        places[Self.place(of: term)].first { number in terms[number].withBytes { compareBytes($0, term) == 0 } }
    }

    private mutating func number(_ term: [UInt8]) -> Int {
        if let number = numbers[term] { return number }
        numbers[term] = terms.count
        terms.append(term)
        return terms.count - 1
    }

    // MARK: Reading

    private struct Word {
        let bytes: [UInt8]
        let isStopWord: Bool
    }

    private struct Piece {
        let range: Range<Int>
        let isPhrase: Bool
        let isExcluded: Bool
    }

    /// What is between quotes, and what is between spaces and has none. A quote that is not closed ends with the text. "-"
    /// excludes where it begins a piece.
    private static func pieces(of text: [UInt8]) -> [Piece] {
        let (quote, minus) = (UInt8(ascii: "\""), UInt8(ascii: "-"))
        func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }
        var pieces: [Piece] = []
        var position = 0
        while position < text.count {
            if isSpace(text[position]) {
                position += 1
                continue
            }
            let isExcluded = text[position] == minus
            if isExcluded { position += 1 }
            if position < text.count, text[position] == quote {
                let end = text[(position + 1)...].firstIndex(of: quote) ?? text.count
                pieces.append(Piece(range: position + 1..<end, isPhrase: true, isExcluded: isExcluded))
                position = min(end + 1, text.count)
            } else {
                let end = text[position...].firstIndex { isSpace($0) || $0 == quote } ?? text.count
                pieces.append(Piece(range: position..<end, isPhrase: false, isExcluded: isExcluded))
                position = end
            }
        }
        return pieces
    }

    // MARK: Matching

    /// What is found in an entity.
    package struct Found {
        /// Of each word that is looked for, the sum of its weights.
        package fileprivate(set) var weights: [UInt64]
        package fileprivate(set) var length: UInt64 = 0
    }

    /// Whether the entity at `position` matches.
    func holds(in walker: JSONWalker, at position: Int) throws(HoldfastError) -> Bool {
        if wantedCount == 0 { return false }
        var hasWord = false
        if isOfWordsAlone {
            try definition.eachWord(in: walker, at: position) { word, _, _ in
                hasWord = !word.isStopWord && number(of: word.bytes).map { $0 < wantedCount } ?? false
                return !hasWord
            }
            return hasWord
        }
        var isLeftOut = false
        var progress = (phrases + exclusions).map { Phrase.Progress(of: $0) }
        try definition.eachWord(in: walker, at: position) { word, _, isFirst in
            let number = number(of: word.bytes) ?? -1
            hasWord = hasWord || number >= 0 && number < wantedCount && !word.isStopWord
            for place in progress.indices {
                progress[place].go(on: number, isFirst: isFirst)
                if place >= phrases.count, progress[place].isFound { isLeftOut = true }
            }
            return !isLeftOut
        }
        return hasWord && !isLeftOut && progress.prefix(phrases.count).allSatisfy(\.isFound)
    }

    /// Counts what is looked for in an entity.
    package func count(in document: UnsafeRawBufferPointer) throws(HoldfastError) -> Found {
        var found = Found(weights: Array(repeating: 0, count: wantedCount))
        try definition.eachWord(in: document) { word, weight, _ in
            if word.isStopWord { return true }
            found.length += 1
            if let number = number(of: word.bytes), number < wantedCount { found.weights[number] += UInt64(weight) }
            return true
        }
        return found
    }
}
