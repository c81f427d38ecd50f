/// What to make of a repository's entities, in MongoDB's language: stages, through which documents go one behind the other.
///
///     let years = try await songs.aggregate(
///         [
///             .match(\.plays > 0),
///             ["$group": ["_id": .member(\.album.year), "plays": ["$sum": .member(\.plays)]]],
///             ["$sort": ["plays": -1]],
///         ], as: Year.self)
///
/// `aggregate.h` lists the stages and expressions. What is wrong with a pipeline is told by the call that uses it, as
/// `.invalidQuery` with the number of the stage.
public struct Pipeline<Entity: Codable & Sendable>: Sendable, ExpressibleByArrayLiteral {
    private enum Form {
        case stages([Stage])
        case json(String)
    }
    private let form: Form

    /// These stages, in this order.
    public init(_ stages: [Stage]) { form = .stages(stages) }

    /// As a literal.
    public init(arrayLiteral stages: Stage...) { form = .stages(stages) }

    /// A pipeline as JSON text.
    public init(json: String) { form = .json(json) }

    func json(_ coding: EntityCoding) throws -> String {
        switch form {
        case .stages(let stages): try "[\(stages.map { try $0.json(coding) }.joined(separator: ","))]"
        case .json(let text): text
        }
    }

    /// One stage: its name with what it is told.
    public struct Stage: Sendable, ExpressibleByDictionaryLiteral {
        fileprivate let json: @Sendable (EntityCoding) throws -> String

        /// The documents that match. Behind a stage that makes other ones, a filter by paths: `.match(["plays": ["$gt": 9]])`.
        public static func match(_ filter: Filter<Entity>) -> Stage {
            Stage { coding in try "{\"$match\":\(filter.part(coding))}" }
        }

        /// As a literal: `["$unwind": "$tags"]`.
        public init(dictionaryLiteral elements: (String, Expression)...) {
            self.init { coding in try Expression.object(elements, coding) }
        }

        private init(_ json: @escaping @Sendable (EntityCoding) throws -> String) { self.json = json }

        fileprivate func json(_ coding: EntityCoding) throws -> String { try json(coding) }
    }

    /// What a stage is told: literals of JSON, in which a text that begins with `$` is what stands at that path, and members
    /// and values of Swift's types.
    public struct Expression: Sendable {
        fileprivate let json: @Sendable (EntityCoding) throws -> String

        fileprivate init(_ json: @escaping @Sendable (EntityCoding) throws -> String) { self.json = json }

        /// What the entity has there: `.member(\.album.year)` is `"$album.year"`. For stages to which entities come.
        public static func member(_ member: any PartialKeyPath<Entity> & Sendable) -> Expression {
            let member = Member(member)
            return Expression { coding in try coding.text("$" + member.path(coding), what: "pipeline") }
        }

        /// The value itself, whatever it looks like, encoded as the repository's entities are.
        public static func value(_ value: (any Encodable & Sendable)?) -> Expression {
            Expression { coding in
                try Decimals.refuse(value, of: "$literal")
                return try "{\"$literal\":\(coding.text(value, what: "pipeline"))}"
            }
        }

        fileprivate static func object(_ elements: [(String, Expression)], _ coding: EntityCoding) throws -> String {
            let members = try elements.map { name, value in
                try "\(coding.text(name, what: "pipeline")):\(value.json(coding))"
            }
            return "{\(members.joined(separator: ","))}"
        }
    }
}

// MARK: Literals

extension Pipeline.Expression: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A text, or where it begins with `$` what stands at that path.
    public init(stringLiteral value: String) { self.init { try $0.text(value, what: "pipeline") } }

    /// An integer.
    public init(integerLiteral value: Int) { self.init { try $0.text(value, what: "pipeline") } }

    /// A number.
    public init(floatLiteral value: Double) { self.init { try $0.text(value, what: "pipeline") } }

    /// True or false.
    public init(booleanLiteral value: Bool) { self.init { _ in value ? "true" : "false" } }

    /// Null.
    public init(nilLiteral: ()) { self.init { _ in "null" } }

    /// An array, as of operands.
    public init(arrayLiteral elements: Pipeline.Expression...) {
        self.init { coding in try "[\(elements.map { try $0.json(coding) }.joined(separator: ","))]" }
    }

    /// An operator with its operands, or an object.
    public init(dictionaryLiteral elements: (String, Pipeline.Expression)...) {
        self.init { coding in try Self.object(elements, coding) }
    }
}
