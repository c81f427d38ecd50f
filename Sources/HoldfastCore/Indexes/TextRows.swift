internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The rows of a text index. None leads to an entity: all that they tell stands in their keys. Entities are documents there,
/// with numbers of the index's own from 1 on, which none has again; no number is given twice.
///
///     term 00 place posting*           the documents that a term is in; no term has a byte 00
///     00 place document*               of no term: all documents
///     FA id 00 00 name*                the numbers of entities, from that id on; of the id a byte 00 is 00 FF there
///     FB documents words number        how many documents there are, how many words they have, the next number
///
/// A row ends where it would have more than `blockBytes`, so that four lie on a page of SQLite. One of postings, or of documents,
/// begins with the place from which on it has all up to the next row; that of the first row of a term is 0, so that every
/// place is in some row of it.
///
///     place    = document fragment                 each its number of bytes, then these, the highest first
///     posting  = step*2+1 position                 of one word of weight 1
///              | step*2 count*2+1 weight gap*      of so many words; the sum of their weights
///              | step*2 count*2 gap*               the same, all of weight 1
///     document = step*2 words id                   how many words it has
///     name     = id number
///     id       = same length rest                  so many bytes are those of the id before in the row, so many follow.
///                                                  Before the first name there is the row's own id, before the first
///                                                  document none
///
/// A step is from one document's number to the next, of the first from that of the place; where it is 0 behind the first,
/// another fragment of the same document follows: the positions of one document are cut into pieces of `fragmentBytes`. A gap is
/// from one position of a word to the next. Positions count all words of a document, stop words too, and one more between two
/// texts. Numbers without bytes before them are of base 128, the lowest digits first, all bytes but the last with the
/// highest bit set.
enum TextRows {
    static let blockBytes = min(Limits.inForce.textRowBytes, 980)
    static let fragmentBytes = min(Limits.inForce.textFragmentBytes, 400)
    private static let names: UInt8 = 0xFA
    private static let totals: UInt8 = 0xFB

    /// Where a posting is.
    struct Place: Comparable {
        var document: UInt64
        var fragment: UInt64 = 0

        static let first = Place(document: 0)

        static func < (left: Self, right: Self) -> Bool {
            left.document == right.document ? left.fragment < right.fragment : left.document < right.document
        }
    }

    static let documents: [UInt8] = []
    static let allPostings = KeyRange(lower: [], upper: [names])
    static let allNames = KeyRange(lower: [names], upper: [names + 1])
    static let allTotals = KeyRange(lower: [totals], upper: [totals + 1])

    /// The rows of a term.
    static func range(of term: [UInt8]) -> KeyRange { KeyRange(lower: term + [0], upper: term + [1]) }

    /// Those of its rows that begin at a place or before. Behind the place there is a step of 0 in a row that begins there.
    static func range(of term: [UInt8], upTo place: Place) -> KeyRange {
        var upper = head(of: term, place)
        upper.append(2)
        return KeyRange(lower: term + [0], upper: upper)
    }

    static func head(of term: [UInt8], _ place: Place) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(blockBytes)
        head += term
        head.append(0)
        head.appendOrdered(place.document)
        head.appendOrdered(place.fragment)
        return head
    }

    /// Where the row is, the last there, that tells the number of an entity.
    static func range(of id: EntityID) -> KeyRange {
        KeyRange(lower: [names], upper: nameHead(of: id.bytes).dropLast() + [1])
    }

    /// What a row of names begins with.
    static func nameHead(of id: [UInt8]) -> [UInt8] {
        var key = [names]
        key.reserveCapacity(blockBytes)
        for byte in id {
            key.append(byte)
            if byte == 0 { key.append(0xFF) }
        }
        key += [0, 0]
        return key
    }

    /// What an index has altogether.
    struct Totals: Equatable {
        var totals = TextTotals()
        var next: UInt64 = 1

        init() {}

        init?(_ key: UnsafeRawBufferPointer) {
            var reader = NumberReader(key, from: 1)
            guard let entities = reader.next(), let length = reader.next(), let next = reader.next() else { return nil }
            totals.entities = entities
            totals.length = length
            self.next = next
        }

        var key: [UInt8] {
            var key = [TextRows.totals]
            for number in [totals.entities, totals.length, next] { key.appendNumber(number) }
            return key
        }
    }
}

extension [UInt8] {
    mutating func appendNumber(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// An id behind another one in a row.
    mutating func appendID(_ id: some RandomAccessCollection<UInt8>, behind before: some Collection<UInt8>) {
        let same = zip(before, id).prefix { $0 == $1 }.count
        appendNumber(UInt64(same))
        appendNumber(UInt64(id.count - same))
        self += id.dropFirst(same)
    }

    /// As bytes that compare as the numbers do.
    mutating func appendOrdered(_ number: UInt64) {
        let count = (71 - number.leadingZeroBitCount) / 8
        append(UInt8(count))
        for place in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: number >> UInt64(8 * place))) }
    }
}

/// Reads numbers from bytes.
struct NumberReader {
    let bytes: UnsafeRawBufferPointer
    var position: Int

    init(_ bytes: UnsafeRawBufferPointer, from position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    var isAtEnd: Bool { position >= bytes.count }

    /// How many bytes a number takes.
    static func size(of number: UInt64) -> Int { number < 0x80 ? 1 : (70 - number.leadingZeroBitCount) / 7 }

    /// Nil where there is none.
    @inline(__always)
    mutating func next() -> UInt64? {
        guard position < bytes.count else { return nil }
        let byte = bytes[position]
        if byte < 0x80 {
            position += 1
            return UInt64(byte)
        }
        return longer()
    }

    private mutating func longer() -> UInt64? {
        var (number, shift): (UInt64, UInt64) = (0, 0)
        while position < bytes.count, shift < 64 {
            let byte = bytes[position]
            position += 1
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        return nil
    }

    mutating func nextOrdered() -> UInt64? {
        guard position < bytes.count else { return nil }
        let count = Int(bytes[position])
        guard count <= 8, position + count < bytes.count else { return nil }
        var number: UInt64 = 0
        for byte in bytes[position + 1..<position + 1 + count] { number = number << 8 | UInt64(byte) }
        position += 1 + count
        return number
    }

    /// Passes over the next id, and answers whether there is one.
    mutating func skipID() -> Bool {
        guard next() != nil, let length = next(), length <= bytes.count - position else { return false }
        position += Int(length)
        return true
    }

    /// Makes the next id of the one before, and answers whether there is one.
    mutating func nextID(_ id: inout [UInt8]) -> Bool {
        guard let same = next(), let length = next(), same <= id.count, length <= bytes.count - position else {
            return false
        }
        let end = position + Int(length)
        id.removeLast(id.count - Int(same))
        id += bytes[position..<end]
        position = end
        return true
    }

    /// The next, which is not read.
    var first: UInt64? {
        var reader = self
        return reader.next()
    }

    /// Passes over so many numbers, and answers whether there were so many.
    @inline(__always)
    mutating func skip(_ count: UInt64) -> Bool {
        var left = count
        while left > 0 {
            guard position < bytes.count else { return false }
            if bytes[position] < 0x80 { left -= 1 }
            position += 1
        }
        return true
    }
}
