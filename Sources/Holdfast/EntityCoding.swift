internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment

/// How the entities of a repository become JSON and come back.
struct EntityCoding: Sendable {
    let encoder: JSONEncoder
    let decoder: JSONDecoder
    /// Whether entities are written as the standard encoder does, and come back as the standard decoder has them.
    private let encodesAsStandard: Bool
    private let decodesAsStandard: Bool
    /// Which members key paths mean.
    let paths: PathFinder

    /// Without an encoder or decoder the standard one is used. `key` names the member that holds the id.
    init(encoder: JSONEncoder?, decoder: JSONDecoder?, key: String) {
        self.encoder = encoder ?? Self.standardEncoder
        self.decoder = decoder ?? Self.standardDecoder
        encodesAsStandard = encoder == nil
        decodesAsStandard = decoder == nil
        paths = PathFinder(encoder: self.encoder, key: key)
    }

    /// The members' order is fixed, so that equal entities are equal bytes.
    private static let standardEncoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()
    private static let standardDecoder = JSONDecoder()

    func encode(_ value: some Encodable, what: String, status: Status) throws -> [UInt8] {
        if encodesAsStandard, let text = EntityWriter.encode(value) { return text }
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw HoldfastError(status, "the \(what) cannot be encoded: \(Self.reason(error))", cause: error)
        }
    }

    /// A stored text that does not fit the type is an error that names it; nothing is skipped.
    func decode<Entity: Decodable>(
        _ type: Entity.Type, from text: [UInt8], id: @autoclosure () -> String, repository: String
    ) throws -> Entity {
        if decodesAsStandard, let entity = EntityText.decode(type, from: text) { return entity }
        do {
            return try decoder.decode(type, from: Data(text))
        } catch {
            let id = id()
            throw HoldfastError(
                .corrupt, "the entity \"\(id)\" in \"\(repository)\" is no \(type): \(Self.reason(error))",
                detail: .init(members: ["repository": repository, "id": id, "type": "\(type)"]), cause: error)
        }
    }

    /// A text of the library's own language, with values encoded as the entities are.
    func text(_ value: (any Encodable)?, what: String, status: Status = .invalidQuery) throws -> String {
        String(decoding: try encode(AnyValue(value: value), what: what, status: status), as: UTF8.self)
    }

    /// On one line, with the path of the member.
    static func reason(_ error: any Error) -> String {
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
    let value: (any Encodable)?

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encodeNil() }
    }
}
