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

    /// Appends a document's key.
    func appendKey(of document: UnsafeRawBufferPointer, to key: inout OrderedKey) throws(CorruptJSON) {
        var tuples = PathTuples(of: document, fields)
        try tuples.appendLeast(to: &key)
    }
}
