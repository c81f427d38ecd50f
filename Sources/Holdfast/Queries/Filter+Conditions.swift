/// What is encoded as an array: arrays, sets, and optionals of them.
public protocol ArrayMember {
    /// The type of the elements.
    associatedtype Item: Codable
}

extension Array: ArrayMember where Element: Codable {
    /// The array's elements.
    public typealias Item = Element
}

extension Set: ArrayMember where Element: Codable {
    /// The set's elements.
    public typealias Item = Element
}

extension Optional: ArrayMember where Wrapped: ArrayMember {
    /// The elements of what is wrapped.
    public typealias Item = Wrapped.Item
}

/// What a member of an entity is in JSON.
public enum JSONType: String, Sendable, Hashable, CaseIterable {
    /// Null; what is missing is of no type.
    case null
    /// True or false.
    case bool
    /// Any number.
    case number
    /// An integer of 32 bits.
    case int
    /// An integer beyond 32 bits.
    case long
    /// A number with a fraction or an exponent.
    case double
    /// Text.
    case string
    /// An object.
    case object
    /// An array.
    case array
}

/// Conditions that no operator of Swift tells: `songs.find(.in(\.genre, [.rock, .soul]) && \.plays >= 30)`.
extension Filter {
    /// The member equals one of the values; nil among them: or it is null or missing.
    public static func `in`<Value: Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ values: [Value]
    ) -> Filter { condition(member, Operator("$in", values)) }

    /// The member equals none of the values.
    public static func notIn<Value: Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ values: [Value]
    ) -> Filter { condition(member, Operator("$nin", values)) }

    /// The member is there, be it null; with false: it is not.
    public static func exists(_ member: any PartialKeyPath<Entity> & Sendable, _ exists: Bool = true) -> Filter {
        condition(member, Operator("$exists", exists))
    }

    /// The member is of one of these types.
    public static func hasType(_ member: any PartialKeyPath<Entity> & Sendable, _ types: JSONType...) -> Filter {
        condition(member, Operator("$type", types.map(\.rawValue)))
    }

    /// A part of the text matches a regular expression of PCRE2.
    /// - Parameters:
    ///   - member: The text.
    ///   - pattern: The expression. One that proves too expensive is refused by the query, with `.invalidQuery`.
    ///   - options: Letters of "imsx".
    public static func matches(
        _ member: any KeyPath<Entity, String> & Sendable, _ pattern: String, options: String = ""
    ) -> Filter { regex(member, pattern, options) }

    /// The member is there, and a part of the text matches a regular expression of PCRE2.
    /// - Parameters:
    ///   - member: The text.
    ///   - pattern: The expression. One that proves too expensive is refused by the query, with `.invalidQuery`.
    ///   - options: Letters of "imsx".
    public static func matches(
        _ member: any KeyPath<Entity, String?> & Sendable, _ pattern: String, options: String = ""
    ) -> Filter { regex(member, pattern, options) }

    private static func regex(
        _ member: any PartialKeyPath<Entity> & Sendable, _ pattern: String, _ options: String
    ) -> Filter {
        let regex = Operator("$regex", pattern)
        return Filter(.condition(Member(member), options.isEmpty ? [regex] : [regex, Operator("$options", options)]))
    }

    /// Divided by the divisor, the member leaves this remainder.
    public static func remainder<Value: BinaryInteger & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, dividingBy divisor: Value, is remainder: Value
    ) -> Filter { condition(member, Operator("$mod", [divisor, remainder])) }

    // MARK: Arrays

    /// The array has an element that equals the value.
    public static func contains<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ value: List.Item
    ) -> Filter where List.Item: Sendable { condition(member, Operator("$eq", value)) }

    /// The array has an element equal to each of the values.
    public static func containsAll<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ values: [List.Item]
    ) -> Filter where List.Item: Sendable { condition(member, Operator("$all", values)) }

    /// The array has so many elements.
    public static func hasCount<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ count: Int
    ) -> Filter { condition(member, Operator("$size", count)) }

    /// The array has one element for which all of this holds:
    ///
    ///     .any(\.comments, \.author == "x" && \.stars > 3)
    ///     .any(\.scores, \.self >= 80 && \.self < 85)
    public static func any<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ condition: Filter<List.Item>
    ) -> Filter where List.Item: Sendable {
        Self.condition(member, Operator("$elemMatch") { coding in try condition.elementText(coding) })
    }
}
