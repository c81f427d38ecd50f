internal import HoldfastEnvironment
package import HoldfastQuery

/// By what a query's results are ordered: MongoDB's order of values.
///
/// What is missing counts as null. An array counts as its smallest element in ascending order and as its largest in
/// descending order; an empty one comes before null. Where several paths come to an array, the element counts whose
/// values together come first (see PathTuples.swift).
package struct SortOrder: Sendable {
    package struct Field: Sendable, Equatable {
        package let path: Path
        let descending: Bool
    }

    static let maxFields = 32

    let fields: [Field]
    /// Behind how many of the fields the score comes, the greatest first; nil where it does not count.
    var scoreIndex: Int?

    /// Of equal ones, those with the greater ids come first.
    var isReversed: Bool { scoreIndex != 0 && fields.first?.descending == true }

    /// By the ids alone.
    static let byID = SortOrder(fields: [])

    var isByScoreAlone: Bool { scoreIndex == 0 && fields.isEmpty }

    /// What an index may come in: none knows of scores.
    var indexFields: [Field] { scoreIndex == nil ? fields : [] }

    /// Appends a document's key. `ranking` must be there where the score counts.
    func appendKey(
        of document: UnsafeRawBufferPointer, _ ranking: TextRanking? = nil, to key: inout OrderedKey
    ) throws(HoldfastError) {
        guard let scoreIndex else { return try appendKey(of: document, fields, to: &key) }
        try appendKey(of: document, Array(fields[..<scoreIndex]), to: &key)
        key.append(.real(try ranking?.score(of: document) ?? 0), descending: true)
        try appendKey(of: document, Array(fields[scoreIndex...]), to: &key)
    }

    private func appendKey(
        of document: UnsafeRawBufferPointer, _ fields: [Field], to key: inout OrderedKey
    ) throws(HoldfastError) {
        if fields.isEmpty { return }
        do throws(CorruptJSON) {
            var tuples = PathTuples(of: document, fields)
            try tuples.appendLeast(to: &key)
        } catch { throw HoldfastError(error) }
    }
}
