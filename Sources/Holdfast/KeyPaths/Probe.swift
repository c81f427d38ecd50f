internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment

/// Makes instances of a type, by decoding it from made-up values, in which no two members are always equal.
///
/// Each value that is asked for is one of two. The values are numbered by their places, in the order in which these are met
/// first, and in the n-th instance it is bit n of its number that chooses: two values of different numbers differ in some
/// instance. This does even for types that have no more than two values, and where the places of one instance are not those
/// of another, because an enumeration has other values in each of its cases.
final class Probe {
    /// Which bit of the numbers chooses.
    private let bit: Int
    /// From 1 on: 0 would never choose the second.
    private var numbers: [String: Int]
    private var count = 0
    /// The types that are being decoded, so that a type which holds its like comes to an end.
    private var open: [ObjectIdentifier] = []

    private init(bit: Int, numbers: [String: Int]) {
        self.bit = bit
        self.numbers = numbers
    }

    static func instances<Value: Decodable>(of type: Value.Type) throws -> [Value] {
        var instances: [Value] = []
        var numbers: [String: Int] = [:]
        repeat {
            let probe = Probe(bit: instances.count, numbers: numbers)
            instances.append(try probe.value(of: type, at: []))
            numbers = probe.numbers
        } while numbers.count >> instances.count > 0
        return instances
    }

    /// Made-up values do not do for a type.
    struct Failure: Error {
        /// Whose decoder has thrown, and not that of a type in it.
        var type: any Any.Type
        var error: any Error
    }

    /// A type that is endless, or nearly so.
    private struct TooLarge: Error, CustomStringConvertible {
        var description: String { "it has no end" }
    }

    private func choose<Value>(
        at path: [any CodingKey], _ first: @autoclosure () -> Value, _ second: @autoclosure () -> Value
    ) throws -> Value {
        count += 1
        guard count <= Limits.inForce.probedValues else { throw TooLarge() }
        let place = path.map(\.stringValue).joined(separator: "\0")
        let number = numbers[place] ?? numbers.count + 1
        numbers[place] = number
        return number >> bit & 1 == 0 ? first() : second()
    }

    // MARK: Values

    func isOpen<Value>(_ type: Value.Type) -> Bool { open.contains(ObjectIdentifier(type)) }

    func value<Value: Decodable>(of type: Value.Type, at path: [any CodingKey]) throws -> Value {
        if let value = try sample(of: type, at: path) ?? scalar(type, at: path) ?? known(type, at: path) {
            return value as! Value
        }
        // A collection that is met within itself is empty, which ends what would be endless.
        let decoder = ProbeDecoder(
            probe: self, codingPath: path, nesting: open.count { $0 == ObjectIdentifier(type) })
        open.append(ObjectIdentifier(type))
        defer { open.removeLast() }
        do {
            guard open.count <= Limits.inForce.probedDepth else { throw TooLarge() }
            if let type = type as? any ProbedRange.Type { return try type.value(from: decoder) as! Value }
            return try Value(from: decoder)
        } catch {
            if let value = try enumeration(type, at: path) { return value }
            throw error is Failure ? error : Failure(type: type, error: error)
        }
    }

    /// What the type itself offers.
    private func sample(of type: any Any.Type, at path: [any CodingKey]) throws -> Any? {
        func sample<Offering: Queryable>(_ type: Offering.Type) throws -> Any? {
            guard let first = type.samples.first, let last = type.samples.last else { return nil }
            return try choose(at: path, first, last)
        }
        func sample<Offering: CaseIterable>(_ type: Offering.Type) throws -> Any? {
            guard let first = type.allCases.first else { return nil }
            return try choose(at: path, first, type.allCases.dropFirst().first ?? first)
        }
        if let type = type as? any Queryable.Type, let value = try sample(type) { return value }
        if let type = type as? any CaseIterable.Type { return try sample(type) }
        return nil
    }

    private func scalar(_ type: any Any.Type, at path: [any CodingKey]) throws -> Any? {
        func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Any {
            try choose(at: path, 1, 2) as Integer
        }
        func real<Real: BinaryFloatingPoint>(_ type: Real.Type) throws -> Any { try choose(at: path, 1.5, 2.5) as Real }
        if type == Bool.self { return try choose(at: path, false, true) }
        if type == String.self { return try choose(at: path, "a", "b") }
        if let type = type as? any FixedWidthInteger.Type { return try integer(type) }
        if let type = type as? any BinaryFloatingPoint.Type { return try real(type) }
        return nil
    }

    /// Foundation's types whose initializers read more than one such value, or accept few.
    private func known(_ type: any Any.Type, at path: [any CodingKey]) throws -> Any? {
        if type == Date.self {
            // Different in whatever part of it is encoded.
            return try choose(
                at: path, Date(timeIntervalSinceReferenceDate: 86_400.25),
                Date(timeIntervalSinceReferenceDate: 98_765_432.5))
        }
        if type == URL.self { return try choose(at: path, URL(string: "a:a")!, URL(string: "b:b")!) }
        if type == Decimal.self { return try choose(at: path, Decimal(1), Decimal(2)) }
        if type == UUID.self {
            return try choose(
                at: path, UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
                UUID(uuid: (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        }
        if type == Locale.self { return try choose(at: path, Locale(identifier: "de"), Locale(identifier: "en")) }
        if type == TimeZone.self {
            return try choose(at: path, TimeZone(secondsFromGMT: 0)!, TimeZone(secondsFromGMT: 3600)!)
        }
        if type == Calendar.self {
            return try choose(at: path, Calendar(identifier: .gregorian), Calendar(identifier: .iso8601))
        }
        return nil
    }

    /// One of the first two cases of an enumeration that does not list them, such as one of texts, which is decoded from
    /// no text but its own, or the coding keys of one whose cases have values. An enumeration of one byte has two cases or
    /// more, or it would take none, and the first two are the bytes 0 and 1. Whatever else takes one byte has these values
    /// too, and holds no reference; it is only looked at. What takes no byte has one value, or none at all, and then its
    /// optional takes none either. Within its like it is the first and the second by turns, one of which is likely to end
    /// what would be endless.
    func enumeration<Value>(_ type: Value.Type, at path: [any CodingKey], nesting: Int = 0) throws -> Value? {
        guard MemoryLayout<Value>.size == 1 || (MemoryLayout<Value>.size == 0 && MemoryLayout<Value?>.size == 1) else {
            return nil
        }
        func value(_ byte: UInt8) -> Value { withUnsafeBytes(of: byte) { $0.load(as: Value.self) } }
        guard Mirror(reflecting: value(0)).displayStyle == .enum else { return nil }
        if MemoryLayout<Value>.size == 0 { return value(0) }
        return nesting > 0 ? value(nesting & 1 == 1 ? 0 : 1) : try choose(at: path, value(0), value(1))
    }
}

/// Of any two bounds, the lower is the lower one.
private protocol ProbedRange {
    static func value(from decoder: ProbeDecoder) throws -> Self
}

extension ProbedRange {
    fileprivate static func bounds<Bound: Decodable & Comparable>(
        of type: Bound.Type, from decoder: ProbeDecoder
    ) throws -> (Bound, Bound) {
        var elements = decoder.unkeyedContainer()
        let (one, other) = (try elements.decode(type), try elements.decode(type))
        return (min(one, other), max(one, other))
    }
}

extension Range: ProbedRange where Bound: Decodable {
    fileprivate static func value(from decoder: ProbeDecoder) throws -> Self {
        let (lower, upper) = try bounds(of: Bound.self, from: decoder)
        return lower..<upper
    }
}

extension ClosedRange: ProbedRange where Bound: Decodable {
    fileprivate static func value(from decoder: ProbeDecoder) throws -> Self {
        let (lower, upper) = try bounds(of: Bound.self, from: decoder)
        return lower...upper
    }
}
