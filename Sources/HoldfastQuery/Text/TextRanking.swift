package import HoldfastEnvironment

/// How many entities a text index has, and how many words they have together.
package struct TextTotals: Sendable, Equatable {
    package var entities: UInt64 = 0
    package var length: UInt64 = 0

    package init() {}
}

/// How well entities match a search: BM25, as SQLite's FTS5 has it, but greater for the better.
///
///     score = sum over words:  idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length))
///     idf   = ln((N - n + 0.5) / (n + 0.5)), at least 0.000001
///
/// f is the sum of a word's weights in the entity, n in how many of the N entities it is, k1 is 1.2 and b 0.75. The length
/// of an entity is the number of its words, stop words left out. N, n and the mean length are those of the snapshot that
/// is read; what a transaction has written itself is scored by them, too.
package struct TextRanking: Sendable {
    package let search: WordSearch
    private let inverseFrequencies: [Double]
    private let scale: Scale

    /// What of a snapshot every word's score depends on.
    package struct Scale: Sendable {
        private let entities: Double
        private let meanLength: Double

        package init(_ totals: TextTotals) {
            entities = Double(totals.entities)
            meanLength = totals.entities == 0 ? 0 : Double(totals.length) / entities
        }

        /// Of a word that is in so many entities.
        package func inverseFrequency(_ frequency: Int) -> Double {
            max(1e-6, log((entities - Double(frequency) + 0.5) / (Double(frequency) + 0.5)))
        }

        /// What a word adds to the score of an entity.
        package func part(weight: UInt64, length: UInt64, _ inverseFrequency: Double) -> Double {
            let (saturation, share) = (1.2, 0.75)
            let frequency = Double(weight)
            // Where no entity has words, no one is longer than others.
            let relative = meanLength > 0 ? Double(length) / meanLength : 1
            return inverseFrequency * frequency * (saturation + 1)
                / (frequency + saturation * (1 - share + share * relative))
        }
    }

    package init(_ search: WordSearch, _ scale: Scale, inverseFrequencies: [Double]) {
        self.search = search
        self.scale = scale
        self.inverseFrequencies = inverseFrequencies
    }

    /// Parts are added up in the order of the words, as whoever ranks by an index alone does: both have the same sum.
    package func score(of document: UnsafeRawBufferPointer) throws(HoldfastError) -> Double {
        let found = try search.count(in: document)
        var score = 0.0
        for (weight, inverseFrequency) in zip(found.weights, inverseFrequencies) where weight > 0 {
            score += scale.part(weight: weight, length: found.length, inverseFrequency)
        }
        return score
    }
}
