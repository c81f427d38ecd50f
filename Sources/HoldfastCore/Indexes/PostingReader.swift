internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Goes through a row of postings, or of documents; see TextRows.swift.
struct PostingReader {
    private let index: Index
    private var numbers: NumberReader
    /// How many bytes the term has.
    let termLength: Int
    /// From where on it has all.
    let head: TextRows.Place

    /// The posting's; before the first, the row's.
    private(set) var place: TextRows.Place
    private(set) var isPlain = false
    /// What is behind its step.
    private(set) var body = 0..<0
    /// How many positions it has, and where they are; of a document how many words.
    private(set) var count: UInt64 = 0
    private(set) var weight: UInt64 = 0
    private(set) var rest = 0..<0
    /// A document's, unless it is passed over.
    private(set) var id: [UInt8] = []

    private let passesOverIDs: Bool
    private var isFirst = true

    init(
        _ key: UnsafeRawBufferPointer, of index: Index, passingOverIDs: Bool = false
    ) throws(HoldfastError) {
        guard let termLength = key.firstIndex(of: 0) else { throw index.damage }
        var numbers = NumberReader(key, from: termLength + 1)
        guard let document = numbers.nextOrdered(), let fragment = numbers.nextOrdered() else { throw index.damage }
        self.index = index
        passesOverIDs = passingOverIDs
        self.termLength = termLength
        self.numbers = numbers
        head = TextRows.Place(document: document, fragment: fragment)
        place = head
    }

    var isOfDocuments: Bool { termLength == 0 }

    var bytes: UnsafeRawBufferPointer { numbers.bytes }

    /// Answers false behind the last.
    mutating func next() throws(HoldfastError) -> Bool {
        if numbers.isAtEnd { return false }
        guard let step = numbers.next() else { throw index.damage }
        let (document, isOver) = place.document.addingReportingOverflow(step >> 1)
        if isOver { throw index.damage }
        if step > 1 {
            place = TextRows.Place(document: document)
        } else if !isFirst {
            place.fragment += 1
        }
        isFirst = false
        isPlain = step & 1 == 1
        let start = numbers.position
        if try !readBody() { throw index.damage }
        body = start..<numbers.position
        return true
    }

    private mutating func readBody() throws(HoldfastError) -> Bool {
        if isPlain {
            (count, weight) = (1, 1)
            let start = numbers.position
            guard numbers.skip(1) else { return false }
            rest = start..<numbers.position
            return true
        }
        guard let header = numbers.next() else { return false }
        if isOfDocuments {
            count = header
            return passesOverIDs ? numbers.skipID() : numbers.nextID(&id)
        }
        count = header >> 1
        weight = count
        if header & 1 == 1 {
            guard let sum = numbers.next() else { return false }
            weight = sum
        }
        let start = numbers.position
        guard numbers.skip(count) else { return false }
        rest = start..<numbers.position
        return true
    }
}

extension Index {
    var damage: HoldfastError {
        HoldfastError(
            .corrupt, "the index \"\(record.name)\" is damaged: drop it and create it again",
            detail: [("index", .text(record.name))])
    }
}
