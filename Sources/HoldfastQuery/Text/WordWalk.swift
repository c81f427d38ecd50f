internal import CHoldfastWords
internal import HoldfastEnvironment

/// Goes through the words of texts, as terms: what a text index keeps of a word, and what a search compares. Words are
/// found by Unicode's rules, their case is folded, their endings are taken off, then their accents.
struct WordWalk {
    /// Beyond so many bytes of its term a word does not count.
    static let maxTermBytes = Int(HFWORDS_TERM_BYTES)

    struct Word {
        let bytes: [UInt8]
        let isStopWord: Bool
    }

    private let stemmer: Stemmer?
    private let stopWords: Set<[UInt8]>

    private final class Stemmer {
        let pointer: OpaquePointer
        let leavesAccentsFirst: Bool

        init(_ language: String) throws(HoldfastError) {
            // Which languages there are was asked before.
            guard let pointer = hfwords_stemmer(language) else { throw WordWalk.noMemory }
            self.pointer = pointer
            leavesAccentsFirst = ["english", "en", "eng", "porter"].contains(language)
        }

        deinit { hfwords_stemmer_free(pointer) }
    }

    fileprivate static var noMemory: HoldfastError { HoldfastError(.noMemory, "no memory to take words apart") }

    init(language: String, stopWords: Set<[UInt8]> = []) throws(HoldfastError) {
        stemmer = language == TextDefinition.noLanguage ? nil : try Stemmer(language)
        self.stopWords = stopWords
    }

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
            if !stopWords.isEmpty, stopWords.contains(try term(of: word, end - start, nil)) {
                guard try visit(Word(bytes: try term(of: word, end - start, stemmer), isStopWord: true)) else { return }
                continue
            }
            guard try visit(Word(bytes: try term(of: word, end - start, stemmer), isStopWord: false)) else { return }
        }
    }

    private func term(
        of word: UnsafePointer<UInt8>, _ length: Int, _ stemmer: Stemmer?
    ) throws(HoldfastError) -> [UInt8] {
        let term = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.maxTermBytes) { buffer -> [UInt8]? in
            let count = hfwords_term(
                word, length, stemmer?.pointer, stemmer?.leavesAccentsFirst ?? false, buffer.baseAddress!)
            return count < 0 ? nil : Array(buffer[..<count])
        }
        guard let term else { throw Self.noMemory }
        return term
    }
}
