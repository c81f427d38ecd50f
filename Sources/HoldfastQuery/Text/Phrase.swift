/// Words that are to stand one behind the other, as the numbers of their terms. Knuth, Morris and Pratt's way of looking for
/// them takes time in proportion to the text, also where it begins as the phrase does again and again.
struct Phrase: Sendable, Equatable {
    let words: [Int]
    /// Of each beginning, how long the longest shorter one is with which it ends.
    private let shorter: [Int]

    init(_ words: [Int]) {
        self.words = words
        var shorter = [Int](repeating: 0, count: words.count)
        var length = 0
        for place in words.indices.dropFirst() {
            while length > 0, words[place] != words[length] { length = shorter[length - 1] }
            if words[place] == words[length] { length += 1 }
            shorter[place] = length
        }
        self.shorter = shorter
    }

    /// How much of it has been met.
    struct Progress {
        private let phrase: Phrase
        private var met = 0
        private(set) var isFound = false

        init(of phrase: Phrase) { self.phrase = phrase }

        /// With the next word, -1 for any other than those of phrases; no phrase goes on from one text into another.
        mutating func go(on word: Int, isFirst: Bool) {
            if isFirst { met = 0 }
            if isFound || met == 0 && word != phrase.words[0] { return }
            while met > 0, phrase.words[met] != word { met = phrase.shorter[met - 1] }
            if phrase.words[met] == word { met += 1 }
            isFound = met == phrase.words.count
            if isFound { met = 0 }
        }
    }
}
