internal import Foundation
internal import HoldfastCore

/// Which entities a query means: conditions that must all hold, in a part of MongoDB's language.
///
///     songs.find(["artist": "Nina Simone"])       the member equals; where it is an array, any element of it
///     songs.find(["album.year": 1965])            members of members, through arrays too
///     songs.find(["deleted": nil])                null or missing
///     songs.find(Filter(json: text))              the same as JSON
public struct Filter: Sendable, ExpressibleByDictionaryLiteral {
    /// The filter that every entity matches.
    public static let all: Filter = [:]

    private enum Form {
        case members([String: (any Encodable & Sendable)?])
        case json(String)
    }
    private let form: Form

    /// Conditions by path. The values are encoded as the repository's entities are.
    public init(_ members: [String: (any Encodable & Sendable)?]) { form = .members(members) }

    /// As a literal. Of a path given twice the last condition counts.
    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        form = .members(Dictionary(elements) { _, last in last })
    }

    /// A filter as JSON text. What is wrong with it is told by the call that uses it.
    public init(json: String) { form = .json(json) }

    func compiled(_ coding: EntityCoding) throws -> HoldfastCore.Filter {
        let json: [UInt8]
        switch form {
        case .members(let members):
            if members.isEmpty { return .all }
            json = Array(try coding.encode(members.mapValues(AnyValue.init), what: "filter", status: .invalidQuery))
        case .json(let text): json = Array(text.utf8)
        }
        return try translatingErrors { () throws(CoreError) in
            try json.withBytes { bytes throws(CoreError) in try HoldfastCore.Filter.parse(bytes) }
        }
    }
}
