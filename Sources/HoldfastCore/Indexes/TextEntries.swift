internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The entries of a text index. An entity has one for each of its terms:
///
///     the term's bytes, 00, then the sum of its weights in the entity, then the number of the entity's words
///
/// and one, of no term, that tells how long it is, whether it has words or not:
///
///     00, then the number of its words
///
/// Numbers are of base 128, the lowest digits first, all bytes but the last with the highest bit set. No term has a byte
/// 00. So what ranks entities by a word stands in a stretch of the index, and no text is read for it; how many entities
/// there are, and how long all of them, is counted where it is wanted, in one more stretch: it is right in every snapshot,
/// whoever writes or builds meanwhile, and no two commits meet in a row that holds the sum.
struct TextEntries {
    /// Of one entity.
    static let limit = 100_000
    static let byteLimit = 8 << 20

    /// In no order; nil beyond the limits.
    let keys: [[UInt8]]?

    init(of document: UnsafeRawBufferPointer, _ definition: TextDefinition) throws(HoldfastError) {
        let counts = try definition.counts(of: document, limit: Self.limit)
        guard counts.weights.count < Self.limit else {
            keys = nil
            return
        }
        var keys = [Self.key([], [counts.length])]
        try keys.askToGrow(by: counts.weights.count)
        var bytes = 0
        for (term, weight) in counts.weights {
            keys.append(Self.key(term, [weight, counts.length]))
            bytes += keys[keys.count - 1].count
        }
        self.keys = bytes <= Self.byteLimit ? keys : nil
    }

    private static func key(_ term: [UInt8], _ numbers: [UInt64]) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(term.count + 1 + 4 * numbers.count)
        key += term
        key.append(0)
        for var number in numbers {
            while number >= 0x80 {
                key.append(UInt8(truncatingIfNeeded: number) | 0x80)
                number >>= 7
            }
            key.append(UInt8(number))
        }
        return key
    }

    /// Where the entries of a term are; of no term, those that tell lengths.
    static func range(of term: [UInt8]) -> KeyRange { KeyRange(lower: term + [0], upper: term + [1]) }

    /// The numbers behind the term, the second 0 where there is none; nil where the key is damaged.
    static func numbers(of key: UnsafeRawBufferPointer) -> (first: UInt64, second: UInt64)? {
        guard let end = key.firstIndex(of: 0) else { return nil }
        var place = end + 1
        func number() -> UInt64? {
            var (number, shift): (UInt64, UInt64) = (0, 0)
            while place < key.count, shift < 63 {
                let byte = key[place]
                place += 1
                number |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return number }
                shift += 7
            }
            return nil
        }
        guard let first = number() else { return nil }
        return (first, number() ?? 0)
    }
}
