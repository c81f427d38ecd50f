internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// Which entities a query means, in MongoDB's language: conditions on key paths, or by path, or JSON.
///
///     songs.find(\.plays >= 30 && \.album.year == 1965)     checked by the compiler (see the operators)
///     songs.find(["album.year": 1965])                     the member equals; of an array, it or an element
///     songs.find(["plays": ["$gte": 30], "note": nil])     operators; null or missing
///     songs.find(Filter(json: text))                       the same as JSON
///
/// Filters join with `&&` and `||` and are negated with `!`, however they were made. What is wrong with one is told by
/// the call that uses it, as `.invalidQuery` or `.invalidJSON`. `hf_repository_find` in `repository.h` tells the whole
/// language.
public struct Filter<Entity: Codable & Sendable>: Sendable, ExpressibleByDictionaryLiteral {
    /// The filter that every entity matches.
    public static var all: Filter { [:] }

    enum Form: Sendable {
        case members([String: (any Encodable & Sendable)?])
        case json(String)
        /// Operators with their operands, all about one member.
        case condition(Member<Entity>, [Operator])
        /// With "$and" or "$or".
        case joined(String, [Filter])
        indirect case negated(Filter)
    }
    let form: Form

    init(_ form: Form) { self.form = form }

    /// Conditions by path, which must all hold. The values are encoded as the repository's entities are.
    public init(_ members: [String: (any Encodable & Sendable)?]) { form = .members(members) }

    /// As a literal. Of a path given twice the last condition counts.
    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        form = .members(Dictionary(elements) { _, last in last })
    }

    /// A filter as JSON text.
    public init(json: String) { form = .json(json) }

    /// Both hold.
    public static func && (left: Filter, right: Filter) -> Filter { join("$and", left, right) }

    /// One of them holds, or both.
    public static func || (left: Filter, right: Filter) -> Filter { join("$or", left, right) }

    /// It does not hold. Where it compares a member that is missing, that is so.
    public static prefix func ! (filter: Filter) -> Filter { Filter(.negated(filter)) }

    private static func join(_ name: String, _ left: Filter, _ right: Filter) -> Filter {
        Filter(.joined(name, left.parts(of: name) + right.parts(of: name)))
    }

    private func parts(of name: String) -> [Filter] {
        if case .joined(name, let parts) = form { return parts }
        return [self]
    }
}

/// An operator with its operand, whose text an encoder makes.
struct Operator: Sendable {
    let name: String
    let operand: @Sendable (EntityCoding) throws -> String

    init(_ name: String, _ operand: @escaping @Sendable (EntityCoding) throws -> String) {
        self.name = name
        self.operand = operand
    }

    init(_ name: String, _ value: (any Encodable & Sendable)?) {
        self.init(name) { coding in
            try Decimals.refuse(value, of: name)
            return try coding.text(value, what: "filter")
        }
    }
}

// MARK: As JSON

extension Filter where Entity: Identifiable & Sendable, Entity.ID: EntityIdentifier {
    /// The filter as this repository hands it on.
    public func json(for repository: Repository<Entity>) throws -> String { try json(repository.coding) }
}

extension Filter {
    /// As a whole filter; nil for the one that every entity matches.
    func text(_ coding: EntityCoding) throws -> String? {
        if case .members(let members) = form, members.isEmpty { return nil }
        return try json(coding)
    }

    func json(_ coding: EntityCoding) throws -> String {
        guard !isAboutElement else {
            throw HoldfastError(.invalidQuery, #"a condition on \.self is one on an element: it stands in any() alone"#)
        }
        switch form {
        case .members(let members):
            for (path, value) in members { try Decimals.refuse(value, of: "the comparison with \"\(path)\"") }
            let values = members.mapValues { AnyValue(value: $0) }
            return String(decoding: try coding.encode(values, what: "filter", status: .invalidQuery), as: UTF8.self)
        case .json(let text): return text
        case .condition(let member, let operators):
            return try "{\(member.name(coding)):\(Self.object(operators, coding))}"
        case .joined(let name, let parts):
            return try "{\"\(name)\":[\(parts.map { try $0.part(coding) }.joined(separator: ","))]}"
        case .negated(let filter): return try "{\"$nor\":[\(filter.part(coding))]}"
        }
    }

    /// Within another text, which a text of the caller's must not break out of.
    func part(_ coding: EntityCoding) throws -> String {
        let text = try json(coding)
        if case .json = form {
            _ = try translatingErrors { () throws(CoreError) in
                try Array(text.utf8).withBytes { bytes throws(CoreError) in
                    try JSONValue.parse(bytes, what: "filter")
                }
            }
        }
        return text
    }

    private static func object(_ operators: [Operator], _ coding: EntityCoding) throws -> String {
        let members = try operators.map { try "\"\($0.name)\":\($0.operand(coding))" }
        return "{\(members.joined(separator: ","))}"
    }

    // MARK: Of an element

    /// Whether it is a condition on an element itself, made from `\.self`.
    private var isAboutElement: Bool {
        switch form {
        case .members, .json: false
        case .condition(let member, _): member.isSelf
        case .joined(_, let parts): parts.contains(where: \.isAboutElement)
        case .negated(let filter): filter.isAboutElement
        }
    }

    /// As the operand of "$elemMatch".
    func elementText(_ coding: EntityCoding) throws -> String {
        try isAboutElement ? Self.object(elementOperators(), coding) : json(coding)
    }

    private func elementOperators() throws -> [Operator] {
        switch form {
        case .condition(let member, let operators) where member.isSelf: return operators
        case .joined("$and", let parts):
            let operators = try parts.flatMap { try $0.elementOperators() }
            guard Set(operators.map(\.name)).count == operators.count else {
                throw HoldfastError(.invalidQuery, #"an operator stands twice in a condition on \.self"#)
            }
            return operators
        case .negated(let filter):
            let operators = try filter.elementOperators()
            return [Operator("$not") { coding in try Self.object(operators, coding) }]
        default:
            throw HoldfastError(
                .invalidQuery, #"conditions on \.self are joined with && alone, and with their like"#)
        }
    }
}
