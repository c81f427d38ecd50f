public import Foundation

// JSON knows one kind of number. An entity's `Decimal` is stored digit by digit and comes back so, but filters and updates
// calculate with integers of 64 bits and with doubles, in which most decimals are not exact. So nothing compares decimals
// or calculates with them: what would is refused, rather than answered as if they were doubles.

/// Not answered: decimals are not compared exactly.
@available(*, deprecated, message: "Decimals are stored exactly and not compared: filter what was fetched")
public func == <Entity: Codable & Sendable>(
    member: any KeyPath<Entity, Decimal> & Sendable, value: Decimal
) -> Filter<Entity> { .condition(member, Operator("$eq", value)) }

/// Not answered: decimals are not compared exactly.
@available(*, deprecated, message: "Decimals are stored exactly and not compared: filter what was fetched")
public func != <Entity: Codable & Sendable>(
    member: any KeyPath<Entity, Decimal> & Sendable, value: Decimal
) -> Filter<Entity> { .condition(member, Operator("$ne", value)) }

/// Not answered: decimals are not compared exactly.
@available(*, deprecated, message: "Decimals are stored exactly and not compared: filter what was fetched")
public func < <Entity: Codable & Sendable>(
    member: any KeyPath<Entity, Decimal> & Sendable, value: Decimal
) -> Filter<Entity> { .condition(member, Operator("$lt", value)) }

/// Not answered: decimals are not compared exactly.
@available(*, deprecated, message: "Decimals are stored exactly and not compared: filter what was fetched")
public func <= <Entity: Codable & Sendable>(
    member: any KeyPath<Entity, Decimal> & Sendable, value: Decimal
) -> Filter<Entity> { .condition(member, Operator("$lte", value)) }

/// Not answered: decimals are not compared exactly.
@available(*, deprecated, message: "Decimals are stored exactly and not compared: filter what was fetched")
public func > <Entity: Codable & Sendable>(
    member: any KeyPath<Entity, Decimal> & Sendable, value: Decimal
) -> Filter<Entity> { .condition(member, Operator("$gt", value)) }

/// Not answered: decimals are not compared exactly.
@available(*, deprecated, message: "Decimals are stored exactly and not compared: filter what was fetched")
public func >= <Entity: Codable & Sendable>(
    member: any KeyPath<Entity, Decimal> & Sendable, value: Decimal
) -> Filter<Entity> { .condition(member, Operator("$gte", value)) }

enum Decimals {
    /// The operators that store what they are given, as it is.
    private static let storing: Set<String> = ["$set", "$push"]

    /// Refuses an operand that the operator would take for a double.
    static func refuse(_ operand: (any Encodable)?, of name: String) throws {
        guard let operand, !storing.contains(name), isAmong(operand) else { return }
        throw HoldfastError(
            .invalidQuery,
            "\(name) would take a Decimal for a double, which is not exact: filter and calculate with what was fetched, or "
                + "store an integer of the smallest unit", detail: .init(members: ["operator": name]))
    }

    private static func isAmong(_ value: Any, depth: Int = 0) -> Bool {
        switch value {
        case is Decimal: true
        case is String, is Int, is Double, is Bool, is Date, is [String], is [Int], is [Double]: false
        default: depth < 16 && Mirror(reflecting: value).children.contains { isAmong($0.value, depth: depth + 1) }
        }
    }
}
