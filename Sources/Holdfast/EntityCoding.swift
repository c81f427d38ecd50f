internal import Foundation
internal import HoldfastCore

/// How the entities of a repository become JSON and come back.
struct EntityCoding: Sendable {
    let encoder: JSONEncoder
    let decoder: JSONDecoder

    /// What is used where nothing is given. The members' order is fixed, so that equal entities are equal bytes.
    static let standard: EntityCoding = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return EntityCoding(encoder: encoder, decoder: JSONDecoder())
    }()

    func encode(_ value: some Encodable, what: String, status: Status) throws -> Data {
        do {
            return try encoder.encode(value)
        } catch {
            throw HoldfastError(status, "the \(what) cannot be encoded: \(Self.reason(error))", cause: error)
        }
    }

    /// A stored text that does not fit the type is an error that names it; nothing is skipped.
    func decode<Entity: Decodable>(_ type: Entity.Type, from text: Data, id: String, repository: String) throws
        -> Entity
    {
        do {
            return try decoder.decode(type, from: text)
        } catch {
            let named = try encoder.encode(["repository": repository, "id": id])
            throw HoldfastError(
                .corrupt, "the entity \"\(id)\" in \"\(repository)\" is no \(type): \(Self.reason(error))",
                detail: String(decoding: named, as: UTF8.self), cause: error)
        }
    }

    /// On one line, with the path of the member.
    private static func reason(_ error: any Error) -> String {
        let context: (DecodingError.Context, String)? =
            switch error {
            case DecodingError.keyNotFound(let key, let context): (context, key.stringValue)
            case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.dataCorrupted(let context):
                (context, "")
            default: nil
            }
        if let (context, missing) = context {
            let path = context.codingPath.map(\.stringValue) + (missing.isEmpty ? [] : [missing])
            return path.isEmpty
                ? context.debugDescription : "\"\(path.joined(separator: "."))\": \(context.debugDescription)"
        }
        if case EncodingError.invalidValue(_, let context) = error { return context.debugDescription }
        return "\(error)"
    }
}

/// A value of a dictionary with values of several types; nil is null.
struct AnyValue: Encodable {
    let value: (any Encodable & Sendable)?

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encodeNil() }
    }
}
