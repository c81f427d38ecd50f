/// Changes by key paths: `songs.modify(id: "s1", [.increment(\.plays, by: 1), .set(\.note, nil)])`.
extension Update {
    /// The value, in place of what is there.
    public static func set<Value: Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ value: Value
    ) -> Update { Update("$set", member, value) }

    /// Removes the member.
    public static func unset<Value>(_ member: any KeyPath<Entity, Value?> & Sendable) -> Update {
        Update("$unset", member, "")
    }

    /// Moves the value, if there is one, in place of what the other member holds.
    public static func rename<Value>(
        _ member: any KeyPath<Entity, Value?> & Sendable, to other: any KeyPath<Entity, Value?> & Sendable
    ) -> Update {
        Update(member, Operator("$rename") { coding in try Member(other).name(coding) })
    }

    // MARK: Numbers. Integers and doubles: of a `Decimal` the result would not be exact.

    /// Adds to the member.
    public static func increment<Value: BinaryInteger & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, by amount: Value
    ) -> Update { Update("$inc", member, amount) }

    /// Adds to the member.
    public static func increment<Value: BinaryFloatingPoint & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, by amount: Value
    ) -> Update { Update("$inc", member, amount) }

    /// Adds to the member; where nothing is, it becomes the amount.
    public static func increment<Value: BinaryInteger & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value?> & Sendable, by amount: Value
    ) -> Update { Update("$inc", member, amount) }

    /// Adds to the member; where nothing is, it becomes the amount.
    public static func increment<Value: BinaryFloatingPoint & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value?> & Sendable, by amount: Value
    ) -> Update { Update("$inc", member, amount) }

    /// Multiplies the member.
    public static func multiply<Value: BinaryInteger & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, by factor: Value
    ) -> Update { Update("$mul", member, factor) }

    /// Multiplies the member.
    public static func multiply<Value: BinaryFloatingPoint & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, by factor: Value
    ) -> Update { Update("$mul", member, factor) }

    /// Multiplies the member; where nothing is, it becomes 0.
    public static func multiply<Value: BinaryInteger & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value?> & Sendable, by factor: Value
    ) -> Update { Update("$mul", member, factor) }

    /// Multiplies the member; where nothing is, it becomes 0.
    public static func multiply<Value: BinaryFloatingPoint & Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value?> & Sendable, by factor: Value
    ) -> Update { Update("$mul", member, factor) }

    /// The value, if it comes before what is there, or nothing is.
    public static func min<Value: Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ value: Value
    ) -> Update { Update("$min", member, value) }

    /// The value, if it comes after what is there, or nothing is.
    public static func max<Value: Encodable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ value: Value
    ) -> Update { Update("$max", member, value) }

    // MARK: Arrays

    /// Appends to the array.
    public static func push<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ value: List.Item
    ) -> Update where List.Item: Sendable { push(member, each: [value]) }

    /// Appends several to the array.
    /// - Parameters:
    ///   - member: The array.
    ///   - values: What is appended, in this order.
    ///   - position: Where they go, below 0 from the end; nil: at the end.
    ///   - slice: How many of all are kept, below 0 the last ones; nil: all.
    public static func push<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, each values: [List.Item], position: Int? = nil,
        slice: Int? = nil
    ) -> Update where List.Item: Sendable {
        Update("$push", member, Several(values: values, position: position, slice: slice))
    }

    /// Appends to the array those of the values of which it has no equal.
    public static func addToSet<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ values: List.Item...
    ) -> Update where List.Item: Sendable { Update("$addToSet", member, Several(values: values)) }

    /// Removes the elements that are equal to one of the values.
    public static func pull<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ values: List.Item...
    ) -> Update where List.Item: Sendable { Update("$pull", member, ["$in": values]) }

    /// Removes the elements for which a condition holds: `.pull(\.comments, where: \.stars < 2)`, or
    /// `.pull(\.scores, where: \.self < 10)`.
    public static func pull<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, where condition: Filter<List.Item>
    ) -> Update where List.Item: Sendable {
        Update(member, Operator("$pull") { coding in try condition.elementText(coding) })
    }
}

/// The operand of an operator that takes several values.
private struct Several<Value: Encodable & Sendable>: Encodable, Sendable {
    var values: [Value]
    var position: Int?
    var slice: Int?

    private enum CodingKeys: String, CodingKey {
        case values = "$each"
        case position = "$position"
        case slice = "$slice"
    }
}
