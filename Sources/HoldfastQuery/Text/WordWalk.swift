internal import CHoldfastWords
internal import HoldfastEnvironment

/// Goes through the words of texts, as terms: what a text index keeps of a word, and what a search compares. Words are
/// found by Unicode's rules, their case is folded, their endings are taken off, then their accents. Of one thread at a time.
package final class WordWalk {
    /// Beyond so many bytes of its term a word does not count.
    package static let maxTermBytes = Int(HFWORDS_TERM_BYTES)

    package struct Word {
        /// Lent until the next word.
        package let bytes: UnsafeRawBufferPointer
        package let isStopWord: Bool
    }

    private let stemmer: OpaquePointer?
    private let leavesAccentsFirst: Bool
    private let stopWords: Set<[UInt8]>
    private let memory: OpaquePointer
    private let term = UnsafeMutablePointer<UInt8>.allocate(capacity: maxTermBytes)

    init(language: String, stopWords: Set<[UInt8]> = []) throws(HoldfastError) {
        // Which languages there are was asked before.
        let isStemmed = language != TextDefinition.noLanguage
        let stemmer = isStemmed ? hfwords_stemmer(language) : nil
        let memory = hfwords_memory_create()
        self.stemmer = stemmer
        leavesAccentsFirst = ["english", "en", "eng", "porter"].contains(language)
        self.stopWords = stopWords
        guard let memory, stemmer != nil || !isStemmed else {
            hfwords_memory_free(memory)
            hfwords_stemmer_free(stemmer)
            term.deallocate()
            throw Self.noMemory
        }
        self.memory = memory
    }

    deinit {
        hfwords_memory_free(memory)
        hfwords_stemmer_free(stemmer)
        term.deallocate()
    }

    private static var noMemory: HoldfastError { HoldfastError(.noMemory, "no memory to take words apart") }

    /// Visits each word of a text in UTF-8 until `visit` answers false.
    func each(
        in text: UnsafeRawBufferPointer, _ visit: (Word) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        guard let base = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        var position = 0
        var start = 0
        var end = 0
        while hfwords_next(base, text.count, &position, &start, &end) {
            let word = base + start
            let length = end - start
            var isStopWord = false
            if !stopWords.isEmpty {
                isStopWord = stopWords.contains(Array(try found(hfwords_term(word, length, nil, false, term))))
            }
            let count = hfwords_known_term(memory, word, length, stemmer, leavesAccentsFirst, term)
            guard try visit(Word(bytes: try found(count), isStopWord: isStopWord)) else { return }
        }
    }

    private func found(_ count: Int) throws(HoldfastError) -> UnsafeRawBufferPointer {
        guard count >= 0 else { throw Self.noMemory }
        return UnsafeRawBufferPointer(start: term, count: count)
    }
}

/// Those of one language that nobody uses just now: each knows the terms of words that it has met.
final class WordWalks: Sendable {
    private static let maxIdle = 4

    private let language: String
    private let stopWords: Set<[UInt8]>
    private let idle = Lock<[WordWalk]>([])

    init(language: String, stopWords: Set<[UInt8]>) {
        self.language = language
        self.stopWords = stopWords
    }

    func lend<Result>(_ body: (WordWalk) throws(HoldfastError) -> Result) throws(HoldfastError) -> Result {
        let walk: WordWalk
        if let known = idle.withLock({ $0.popLast() }) {
            walk = known
        } else {
            walk = try WordWalk(language: language, stopWords: stopWords)
        }
        defer { idle.withLock { if $0.count < Self.maxIdle { $0.append(walk) } } }
        return try body(walk)
    }
}
