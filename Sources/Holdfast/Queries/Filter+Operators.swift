// Comparisons of what a key path reads, as filters: `\.plays >= 30`. Values are compared as they are encoded: numbers by
// their value, texts by their bytes; what is of another type, null or missing is neither less nor greater.

/// The member equals the value; nil: it is null or missing.
public func == <Entity: Codable & Sendable, Value: Equatable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$eq", value)) }

/// The member does not equal the value, or is missing; with nil: it is neither null nor missing.
public func != <Entity: Codable & Sendable, Value: Equatable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$ne", value)) }

/// The member is less than the value.
public func < <Entity: Codable & Sendable, Value: Comparable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$lt", value)) }

/// The member is there and less than the value.
public func < <Entity: Codable & Sendable, Value: Comparable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value?> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$lt", value)) }

/// The member is less than the value or equals it.
public func <= <Entity: Codable & Sendable, Value: Comparable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$lte", value)) }

/// The member is there and less than the value or equals it.
public func <= <Entity: Codable & Sendable, Value: Comparable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value?> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$lte", value)) }

/// The member is greater than the value.
public func > <Entity: Codable & Sendable, Value: Comparable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$gt", value)) }

/// The member is there and greater than the value.
public func > <Entity: Codable & Sendable, Value: Comparable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value?> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$gt", value)) }

/// The member is greater than the value or equals it.
public func >= <Entity: Codable & Sendable, Value: Comparable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$gte", value)) }

/// The member is there and greater than the value or equals it.
public func >= <Entity: Codable & Sendable, Value: Comparable & Encodable & Sendable>(
    member: any KeyPath<Entity, Value?> & Sendable, value: Value
) -> Filter<Entity> { .condition(member, Operator("$gte", value)) }

extension Filter {
    static func condition(_ keyPath: any PartialKeyPath<Entity> & Sendable, _ operators: Operator...) -> Filter {
        Filter(.condition(Member(keyPath), operators))
    }
}
