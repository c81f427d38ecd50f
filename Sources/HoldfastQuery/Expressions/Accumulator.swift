package import HoldfastEnvironment

/// What becomes of the values of a group, one after another: the state of one of the accumulators of `$group`.
///
/// Of integers the sum is exact, and a double where 64 bits do not hold it; with doubles among them, sum and average are
/// within a rounding or two of the exact ones, in whatever order they come (`Summation`).
package struct Accumulator: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case sum = "$sum"
        case average = "$avg"
        case least = "$min"
        case greatest = "$max"
        case first = "$first"
        case last = "$last"
        case push = "$push"
        case addToSet = "$addToSet"
        case count = "$count"
        case deviationOfPopulation = "$stdDevPop"
        case deviationOfSample = "$stdDevSamp"
        case mergeObjects = "$mergeObjects"
    }

    package let kind: Kind
    private let place: ExpressionPlace
    private var sum = Summation()
    private var count: Int64 = 0
    /// Of the numbers so far, and the sum of the squares of their distances from it (Welford).
    private var mean = 0.0
    private var squares = 0.0
    private var value: JSONValue?
    private var values: [JSONValue] = []
    private var keys: Set<OrderedKey> = []
    private var object = ObjectBuilder()
    /// What the values that it keeps take, in memory.
    package private(set) var bytes = MemoryLayout<Accumulator>.size

    init(_ kind: Kind, _ place: ExpressionPlace) {
        self.kind = kind
        self.place = place
    }

    // MARK: Adding

    /// Adds a value; nil stands for what is missing.
    package mutating func add(_ added: JSONValue?) throws(HoldfastError) {
        switch kind {
        case .sum, .average:
            guard let number = added?.number else { return }
            sum.add(number)
            count += 1
        case .count: count += 1
        case .least: if let added, added.kind != .null, value.map({ added.order($0) < 0 }) ?? true { keep(added) }
        case .greatest: if let added, added.kind != .null, value.map({ added.order($0) > 0 }) ?? true { keep(added) }
        case .first: if value == nil { keep(added ?? .null) }
        case .last: keep(added ?? .null)
        case .push: if let added { try append(added) }
        case .addToSet: if let added { try insert(added) }
        case .deviationOfPopulation, .deviationOfSample:
            guard let number = added?.number?.double else { return }
            count += 1
            let distance = number - mean
            mean += distance / Double(count)
            squares += distance * (number - mean)
        case .mergeObjects: try merge(added)
        }
    }

    private mutating func keep(_ added: JSONValue) {
        bytes += added.memory - (value?.memory ?? 0)
        value = added
    }

    private mutating func append(_ added: JSONValue) throws(HoldfastError) {
        try values.askToGrow()
        values.append(added)
        bytes += added.memory + MemoryLayout<JSONValue>.stride
    }

    private mutating func insert(_ added: JSONValue) throws(HoldfastError) {
        var key = OrderedKey()
        key.append(added)
        let size = key.bytes.count
        guard keys.insert(key).inserted else { return }
        try append(added)
        bytes += size + 64
    }

    private mutating func merge(_ added: JSONValue?) throws(HoldfastError) {
        guard let added, added.kind != .null else { return }
        guard case .object(let members) = added else { throw place.needs("objects", not: added) }
        for member in members {
            object.set(member.name, member.value)
            // An old value whose place it takes is not taken off: it is an upper bound that costs nothing.
            bytes += MemoryLayout<JSONValue.Member>.stride + 64 + member.name.count + member.value.memory
        }
    }

    // MARK: The result

    package var result: JSONValue {
        get throws(HoldfastError) {
            switch kind {
            case .sum:
                if case .integer(let integer) = sum.total { return .integer(integer) }
                return try place.finite(sum.double)
            case .average: return count == 0 ? .null : try place.finite(sum.double / Double(count))
            case .count: return .integer(count)
            case .least, .greatest, .first, .last: return value ?? .null
            case .push, .addToSet: return .array(values)
            case .deviationOfPopulation: return try deviation(of: count)
            case .deviationOfSample: return try deviation(of: count - 1)
            case .mergeObjects: return .object(object.members)
            }
        }
    }

    private func deviation(of count: Int64) throws(HoldfastError) -> JSONValue {
        count <= 0 ? .null : try place.finite((squares / Double(count)).squareRoot())
    }
}

/// An accumulator and the expression whose values it is given, as `$group` has them: `{"$sum": "$price"}`.
package struct Accumulation: Sendable {
    package let kind: Accumulator.Kind
    /// That of `$count` is null.
    package let expression: Expression
    private let place: ExpressionPlace

    /// Compiles one. The parameters are those of `Expression`.
    package init(
        _ value: JSONValue, at location: String = "", in what: String = "pipeline", variables: [[UInt8]] = [],
        parameters: [[UInt8]: JSONValue] = [:]
    ) throws(HoldfastError) {
        let names = Accumulator.Kind.allCases.map(\.rawValue)
        func refusal(_ name: String?, _ reason: String) -> HoldfastError {
            ExpressionPlace(name: name, location: location, what: what).refusal(reason)
        }
        guard case .object(let members) = value, members.count == 1 else {
            throw refusal(nil, "must be an object of one accumulator, such as {\"$sum\": \"$price\"}")
        }
        let name = String(decoding: members[0].name, as: UTF8.self)
        guard let kind = Accumulator.Kind(rawValue: name) else {
            let cure =
                Spelling.nearest(to: members[0].name, among: names).map { "did you mean \"\($0)\"?" }
                ?? "supported are " + names.map { "\"\($0)\"" }.joined(separator: ", ")
            var error = refusal(name, "is no accumulator; \(cure)")
            error.detail.append(("supported", .texts(names)))
            throw error
        }
        self.kind = kind
        place = ExpressionPlace(name: name, location: location, what: what)
        var operand = members[0].value
        if kind == .count {
            guard case .object(let none) = operand, none.isEmpty else {
                throw refusal(name, "takes an empty object, {}")
            }
            operand = .null
        } else if case .array(let elements) = operand {
            guard elements.count == 1 else {
                throw refusal(
                    name, "takes one expression in a group, not an array of \(elements.count): add or join them first")
            }
            operand = elements[0]
        }
        expression = try Expression(
            operand, at: location.isEmpty ? name : "\(location).\(name)", in: what, variables: variables,
            parameters: parameters)
    }

    /// Nothing added yet.
    package func begin() -> Accumulator { Accumulator(kind, place) }

    /// Adds what the expression makes of a document.
    package func add(
        _ document: JSONValue, variables: [JSONValue?] = [], to accumulator: inout Accumulator
    ) throws(HoldfastError) {
        try accumulator.add(kind == .count ? nil : expression.evaluate(document, variables: variables))
    }
}

/// The accumulators as operators of one document: over the elements of an array that is the only operand, or over operands.
enum Summary {
    static let sum = function(.sum)
    static let average = function(.average)
    static let least = function(.least)
    static let greatest = function(.greatest)
    static let deviationOfPopulation = function(.deviationOfPopulation)
    static let deviationOfSample = function(.deviationOfSample)

    private static func function(_ kind: Accumulator.Kind) -> ListFunction {
        { operands, place, evaluation throws(HoldfastError) in
            var accumulator = Accumulator(kind, place)
            if operands.count == 1, case .array(let elements)? = operands[0] {
                // A loop that goes through the same array again and again is bounded, too.
                try evaluation.spend(elements.count, place)
                for element in elements {
                    if kind == .least || kind == .greatest { try evaluation.spend(walking: element, place) }
                    try accumulator.add(element)
                }
            } else {
                for operand in operands { try accumulator.add(operand) }
            }
            return try accumulator.result
        }
    }
}
