internal import Foundation
internal import HoldfastCore

/// What to change in entities, in MongoDB's update operators: each has the paths that it changes, with their operands.
///
///     try await songs.modify(id: "s1", ["$inc": ["plays": 1], "$push": ["album.tracks": "Gloria"]])
///     try await songs.modify(id: "s1", Update(json: #"{"$push": {"tags": {"$each": ["a"], "$slice": -9}}}"#))
///
/// The operators are `$set`, `$unset`, `$inc`, `$mul`, `$min`, `$max`, `$push` (with `$each`, `$position`, `$slice`),
/// `$pull` (with a value or a filter), `$addToSet` (with `$each`) and `$rename`. What no path names stays as it is.
public struct Update: Sendable, ExpressibleByDictionaryLiteral {
    private enum Form {
        case operators([String: [String: (any Encodable & Sendable)?]])
        case json(String)
    }
    private let form: Form

    /// Operators with their paths and operands. The operands are encoded as the repository's entities are.
    public init(_ operators: [String: [String: (any Encodable & Sendable)?]]) { form = .operators(operators) }

    /// As a literal. Of an operator given twice the last one counts.
    public init(dictionaryLiteral elements: (String, [String: (any Encodable & Sendable)?])...) {
        form = .operators(Dictionary(elements) { _, last in last })
    }

    /// An update as JSON text. What is wrong with it is told by the call that uses it.
    public init(json: String) { form = .json(json) }

    func json(_ coding: EntityCoding) throws -> [UInt8] {
        switch form {
        case .operators(let operators):
            let values = operators.mapValues { $0.mapValues(AnyValue.init) }
            return Array(try coding.encode(values, what: "update", status: .invalidQuery))
        case .json(let text): return Array(text.utf8)
        }
    }
}
