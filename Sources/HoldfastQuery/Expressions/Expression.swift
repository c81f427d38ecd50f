package import HoldfastEnvironment

/// An expression of an aggregation, compiled: what it makes of a document. `ExpressionCompiler` reads the language, a part of
/// MongoDB's with its semantics.
///
///     "$price"    "$items.price"    "$$ROOT"    "$$name"    {"total": "$price"}    [1, "$a"]    {"$add": ["$a", 1]}
///     {"$literal": "$5"}    {"$param": "name"}
///
/// Where its numbers differ from MongoDB's: integers are exact in 64 bits, and a result beyond them is a double; a result
/// that no double can hold is refused, because JSON has none for it. Dates are texts in the form of ISO 8601.
package struct Expression: Sendable {
    /// Bounds the stack: compiling and evaluating recurse as deep as operators, objects and arrays stand in each other.
    package static let maxNesting = 32
    /// Bounds the memory and the time of one evaluation: no more bytes of values are made for one document.
    package static let maxBytes = 64 << 20
    /// Bounds the stack of whatever walks through a value: no evaluation answers one that is nested deeper.
    package static let maxDepth = 200
    /// Bounds the time and the memory of whatever walks through a value, which holds others by reference and may hold one
    /// many times: no evaluation answers one that is longer. The longest entity is no longer.
    package static let maxExtent = PayloadLimits.widest.maxBytes

    let root: any ExpressionNode
    /// How many variables stand at once in each other.
    private let slots: Int
    /// The names of the parameters that occur.
    package let parameters: Set<[UInt8]>
    private let place: ExpressionPlace

    /// Compiles an expression. `location` is where it stands in what is named `what` in messages, without an article.
    /// `variables` names the variables that it may read besides its own; their values come with each evaluation.
    package init(
        _ value: JSONValue, at location: String = "", in what: String = "pipeline", variables: [[UInt8]] = [],
        parameters: [[UInt8]: JSONValue] = [:]
    ) throws(HoldfastError) {
        var compiler = ExpressionCompiler(
            what: what, location: location, variables: variables, parameters: parameters)
        root = try compiler.compile(value)
        slots = compiler.slots
        self.parameters = compiler.usedParameters
        place = ExpressionPlace(name: nil, location: location, what: what)
    }

    /// What the expression makes of a document; nil where that is missing. `variables` are the values of those that it was
    /// compiled with, in their order.
    package func evaluate(
        _ document: JSONValue, variables: [JSONValue?] = []
    ) throws(HoldfastError) -> JSONValue? {
        if let path = root as? PathOfDocument { return path.find(in: document) }
        var evaluation = Evaluation(document: document, variables: variables)
        while evaluation.variables.count < slots { evaluation.variables.append(nil) }
        let value = try root.evaluate(&evaluation)
        // Only what was made can be deeper than what came in.
        if evaluation.bytesLeft < Self.maxBytes, let value { try place.requireExtent(of: value, Self.maxExtent) }
        return value
    }

    /// The names along the path that the expression consists of alone; nil where it is anything else.
    package var path: [[UInt8]]? { (root as? PathOfDocument)?.names }

    /// The value that it has for every document; nil where it depends on one.
    package var constant: JSONValue? { (root as? Constant)?.value }
}

/// A part of an expression.
protocol ExpressionNode: Sendable {
    /// Nil stands for what is missing.
    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue?
}

/// What an expression is evaluated with.
struct Evaluation {
    let document: JSONValue
    /// By the slots that the compiler gave out.
    var variables: [JSONValue?]
    fileprivate(set) var bytesLeft = Expression.maxBytes
    /// By how much values may have grown in depth since one was looked at: `ArrayReduction`.
    var growth = 0
    private var pace = Interrupt.Pace()

    fileprivate init(document: JSONValue, variables: [JSONValue?]) {
        self.document = document
        self.variables = variables
    }

    /// Before so many bytes are made, or so many are gone through again: the one bounds memory, the other time.
    mutating func spend(_ bytes: Int, _ place: ExpressionPlace) throws(HoldfastError) {
        guard bytes <= bytesLeft else { throw place.isTooLarge() }
        bytesLeft -= bytes
        try pace.look(bytes)
        // What is small need not be asked for.
        if bytes > 1 << 16 { try Memory.ask(for: bytes) }
    }

    /// Before all of a value is gone through, which may hold another many times.
    mutating func spend(walking value: JSONValue, _ place: ExpressionPlace) throws(HoldfastError) {
        switch value {
        case .string(let text): try spend(text.count, place)
        case .array, .object: try spend(place.requireExtent(of: value, bytesLeft), place)
        default: break
        }
    }

    /// After each pass of a loop.
    mutating func look() throws(HoldfastError) { try pace.look() }

    /// Before an array of so many values is made.
    mutating func spend(elements: Int, _ place: ExpressionPlace) throws(HoldfastError) {
        let (bytes, overflows) = elements.multipliedReportingOverflow(by: MemoryLayout<JSONValue>.stride)
        guard !overflows else { throw place.isTooLarge() }
        try spend(bytes + 32, place)
    }
}

/// Where an operator stands, for messages.
final class ExpressionPlace: Sendable {
    /// The operator; nil for the expression itself.
    let name: String?
    /// The names and indexes that lead to it.
    let location: String
    /// What it stands in, without an article.
    let what: String

    init(name: String?, location: String, what: String) {
        self.name = name
        self.location = location
        self.what = what
    }

    func refusal(_ reason: String) -> HoldfastError {
        var detail: [(name: String, value: HoldfastError.DetailValue)] = []
        if let name { detail.append(("operator", .text(name))) }
        if !location.isEmpty { detail.append(("path", .text(location))) }
        let subject = name.map { "operator \"\($0)\"" } ?? "the expression"
        let position = location.isEmpty ? "" : " at \"\(location)\""
        return HoldfastError(.invalidQuery, "\(subject)\(position) in the \(what) \(reason)", detail: detail)
    }

    func needs(_ needed: String, not value: JSONValue?) -> HoldfastError {
        refusal(
            "takes \(needed), not \(value?.typeInWords ?? "what is missing"): convert it, or choose with \"$cond\" or "
                + "\"$ifNull\"")
    }

    func isTooLarge(_ allowed: Int = Expression.maxBytes) -> HoldfastError {
        refusal(
            "makes more than \(max(allowed, Expression.maxBytes)) bytes of values for one document, which is not allowed: make fewer or "
                + "smaller ones")
    }

    /// Answers how long the value is, about, as JSON.
    @discardableResult
    func requireExtent(of value: JSONValue, _ allowed: Int) throws(HoldfastError) -> Int {
        var walk = ExtentWalk(left: allowed)
        switch try walk.excess(of: value, beyond: Expression.maxDepth) {
        case nil: return allowed - walk.left
        case .length?: throw isTooLarge(allowed)
        case .depth?:
            throw refusal(
                "makes a value with more than \(Expression.maxDepth) arrays and objects in each other, which is not "
                    + "allowed: nest less deep")
        }
    }
}

extension JSONValue? {
    /// Null or missing.
    var isNullish: Bool {
        switch self {
        case nil, .null?: true
        default: false
        }
    }

    /// As a condition: all but false, 0, null and what is missing.
    var isTrue: Bool {
        switch self {
        case nil, .null?: false
        case .bool(let flag)?: flag
        case .integer(let integer)?: integer != 0
        case .real(let real)?: real != 0
        default: true
        }
    }
}
