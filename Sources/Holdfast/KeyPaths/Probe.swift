internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment

/// Makes instances of a type, by decoding it from made-up values, in which no two members are always equal.
///
/// Each value that is asked for is one of two. The values are numbered in the order in which they are asked for, and in
/// the n-th instance it is bit n of its number that chooses: two values of different numbers differ in some instance.
/// This does even for types that have no more than two values.
final class Probe {
    /// Which bit of the numbers chooses.
    private let bit: Int
    private var count = 0
    /// The types that are being decoded, so that a type which holds its like comes to an end.
    private var open: [ObjectIdentifier] = []

    private init(bit: Int) { self.bit = bit }

    static func instances<Value: Decodable>(of type: Value.Type) throws -> [Value] {
        var instances: [Value] = []
        var count = 0
        repeat {
            let probe = Probe(bit: instances.count)
            instances.append(try probe.value(of: type, at: []))
            count = max(count, probe.count)
        } while count >> instances.count > 0
        return instances
    }

    /// A type that is endless, or nearly so.
    private struct TooLarge: Error {}

    private func choose<Value>(_ first: @autoclosure () -> Value, _ second: @autoclosure () -> Value) throws -> Value {
        // From 1 on: 0 would never choose the second.
        count += 1
        guard count <= Limits.inForce.probedValues else { throw TooLarge() }
        return count >> bit & 1 == 0 ? first() : second()
    }

    // MARK: Values

    func isOpen<Value>(_ type: Value.Type) -> Bool { open.contains(ObjectIdentifier(type)) }

    func value<Value: Decodable>(of type: Value.Type, at path: [any CodingKey]) throws -> Value {
        if let value = try sample(of: type) ?? scalar(type) ?? known(type) { return value as! Value }
        guard open.count < Limits.inForce.probedDepth else { throw TooLarge() }
        // A collection that is met within itself is empty, which ends what would be endless.
        let decoder = ProbeDecoder(probe: self, codingPath: path, isEmpty: isOpen(type))
        open.append(ObjectIdentifier(type))
        defer { open.removeLast() }
        let before = count
        do { return try Value(from: decoder) } catch {
            count = before
            guard let value = try byteEnumeration(type) else { throw error }
            return value
        }
    }

    /// What the type itself offers.
    private func sample(of type: any Any.Type) throws -> Any? {
        func sample<Offering: Queryable>(_ type: Offering.Type) throws -> Any? {
            guard let first = type.samples.first, let last = type.samples.last else { return nil }
            return try choose(first, last)
        }
        func sample<Offering: CaseIterable>(_ type: Offering.Type) throws -> Any? {
            guard let first = type.allCases.first else { return nil }
            return try choose(first, type.allCases.dropFirst().first ?? first)
        }
        if let type = type as? any Queryable.Type, let value = try sample(type) { return value }
        if let type = type as? any CaseIterable.Type { return try sample(type) }
        return nil
    }

    private func scalar(_ type: any Any.Type) throws -> Any? {
        func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Any { try choose(1, 2) as Integer }
        func real<Real: BinaryFloatingPoint>(_ type: Real.Type) throws -> Any { try choose(1.5, 2.5) as Real }
        if type == Bool.self { return try choose(false, true) }
        if type == String.self { return try choose("a", "b") }
        if let type = type as? any FixedWidthInteger.Type { return try integer(type) }
        if let type = type as? any BinaryFloatingPoint.Type { return try real(type) }
        return nil
    }

    /// Foundation's types whose initializers read more than one such value, or accept few.
    private func known(_ type: any Any.Type) throws -> Any? {
        if type == Date.self {
            // Different in whatever part of it is encoded.
            return try choose(
                Date(timeIntervalSinceReferenceDate: 86_400.25), Date(timeIntervalSinceReferenceDate: 98_765_432.5))
        }
        if type == URL.self { return try choose(URL(string: "a:a")!, URL(string: "b:b")!) }
        if type == Decimal.self { return try choose(Decimal(1), Decimal(2)) }
        if type == UUID.self {
            return try choose(
                UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
                UUID(uuid: (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        }
        return nil
    }

    /// One of the first two cases of an enumeration that does not list them, such as one of texts, which is decoded from
    /// no text but its own. An enumeration of one byte has two cases or more, or it would take none, and the first two
    /// are the bytes 0 and 1. Whatever else takes one byte has these values too, and holds no reference; it is only
    /// looked at.
    private func byteEnumeration<Value>(_ type: Value.Type) throws -> Value? {
        guard MemoryLayout<Value>.size == 1 else { return nil }
        func value(_ byte: UInt8) -> Value { withUnsafeBytes(of: byte) { $0.load(as: Value.self) } }
        guard Mirror(reflecting: value(0)).displayStyle == .enum else { return nil }
        return try choose(value(0), value(1))
    }
}
