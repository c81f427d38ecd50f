internal import CHoldfastWords
package import HoldfastEnvironment

/// What a text index is over: which texts of an entity, and what their words are to it.
package struct TextDefinition: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package let path: Path
        /// How much a word there counts.
        package let weight: Int64

        package init(path: Path, weight: Int64) {
            self.path = path
            self.weight = weight
        }
    }

    package static let maxWeight: Int64 = 99_999
    package static let maxStopWords = 10_000
    /// The language whose words are kept as they are.
    package static let noLanguage = "none"

    package let fields: [Field]
    /// By libstemmer's name, or its code of ISO 639.
    package let language: String
    /// As they were given.
    package let stopWords: [[UInt8]]
    /// With their case and accents folded, not stemmed.
    let foldedStopWords: Set<[UInt8]>
    /// The terms of stop words. An index does not have them where a stop word stands, and has where another word of that
    /// term does.
    package let stopTerms: Set<[UInt8]>
    let walks: WordWalks

    package init(
        fields: [Field], language: String, stopWords: [[UInt8]]
    ) throws(HoldfastError) {
        self.fields = fields
        self.language = language
        self.stopWords = stopWords
        var folded: Set<[UInt8]> = []
        let walk = try WordWalk(language: Self.noLanguage)
        for word in stopWords {
            try word.withBytes { word throws(HoldfastError) in
                try walk.each(in: word) { word throws(HoldfastError) in
                    folded.insert(Array(word.bytes))
                    return true
                }
            }
        }
        foldedStopWords = folded
        var terms: Set<[UInt8]> = []
        let stemming = try WordWalk(language: language)
        for word in stopWords {
            try word.withBytes { word throws(HoldfastError) in
                try stemming.each(in: word) { word throws(HoldfastError) in
                    terms.insert(Array(word.bytes))
                    return true
                }
            }
        }
        stopTerms = terms
        walks = WordWalks(language: language, stopWords: folded)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.fields == right.fields && left.language == right.language && left.stopWords == right.stopWords
    }

    /// Whether words of a language can be stemmed; of `noLanguage` none are.
    package static func knows(_ language: String) -> Bool {
        if language == noLanguage { return true }
        guard !language.utf8.contains(0), let stemmer = hfwords_stemmer(language) else { return false }
        hfwords_stemmer_free(stemmer)
        return true
    }
}
