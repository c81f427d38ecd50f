public import HoldfastEnvironment

extension Filter {
    /// Whether the filter holds for a stored entity. Its bytes were checked when they came in; where
    /// they turn out damaged, the error is `corrupt`.
    ///
    /// Time is bounded by conditions × parts of a path × bytes of the document: however a path's parts
    /// may spread over nested arrays, each value is visited once, with all the parts that lead to it. Only
    /// `$elemMatch` within `$elemMatch` could visit values again and again, and is stopped (`Matcher.spend`).
    public func matches(_ document: UnsafeRawBufferPointer) throws(HoldfastError) -> Bool {
        if isAll { return true }
        var matcher = Matcher(JSONWalker(document))
        do throws(CorruptJSON) {
            return try matcher.holds(root, at: matcher.walker.skipWhiteSpace(0))
        } catch { throw matcher.refusal ?? HoldfastError(error) }
    }
}

/// Evaluates a filter's tree on one document.
struct Matcher {
    let walker: JSONWalker
    /// Why matching was given up. It unwinds as `CorruptJSON`, which costs the hot path nothing.
    private(set) var refusal: HoldfastError?
    /// The bytes of arrays that `$elemMatch` may still go through.
    private var allowance: Int

    init(_ walker: JSONWalker) {
        self.walker = walker
        allowance = Self.allowance(for: walker)
    }

    /// More than any filter needs whose paths lead to a value in one way: each condition once through the document,
    /// and as often again as a path has parts. Ways multiply only where `$elemMatch` stands in `$elemMatch` behind
    /// paths with indexes, on documents made for it.
    private static func allowance(for walker: JSONWalker) -> Int {
        FilterCompiler.maxConditions * Path.maxParts * (walker.end + 1)
    }

    private mutating func spend(_ bytes: Int) throws(CorruptJSON) {
        allowance -= bytes
        if allowance < 0 {
            throw refuse("the nested \"$elemMatch\" of the filter reach the same elements too often: simplify them")
        }
    }

    private mutating func refuse(_ message: String, _ status: Status = .invalidQuery) -> CorruptJSON {
        refusal = HoldfastError(status, message)
        return CorruptJSON(position: 0)
    }

    // MARK: Nodes

    /// Whether a node holds for the value at `position`, an object, or an element that `$elemMatch` looks at.
    /// Recurses no deeper than the filter.
    mutating func holds(_ node: Filter.Node, at position: Int) throws(CorruptJSON) -> Bool {
        switch node {
        case .all(let nodes):
            for node in nodes where try !holds(node, at: position) { return false }
            return true
        case .any(let nodes):
            for node in nodes where try holds(node, at: position) { return true }
            return false
        case .none(let nodes):
            for node in nodes where try holds(node, at: position) { return false }
            return true
        case .path(let path, let test): return try follow(path, test, from: position)
        case .text(let search):
            do throws(HoldfastError) { return try search.holds(in: walker, at: position) } catch {
                refusal = error
                throw CorruptJSON(position: position)
            }
        case .unbound: throw refuse("a parameter of the filter has no value: bind it")
        }
    }

    private mutating func follow(
        _ path: Path, _ test: Filter.Test, from position: Int
    ) throws(CorruptJSON) -> Bool {
        if path.parts.isEmpty { return try passes(position, test) }
        return try PathWalk(walker, path).visit(from: position) { leaf throws(CorruptJSON) in
            switch leaf {
            case .missing, .unnamed: test.acceptsMissing
            case .blocked: false
            case .member(let value): try passesOrHolds(value, test)
            case .element(let value): try passes(value, test)
            }
        }
    }

    // MARK: Values

    /// Whether the value passes, or is an array with an element that does.
    private mutating func passesOrHolds(_ position: Int, _ test: Filter.Test) throws(CorruptJSON) -> Bool {
        if try passes(position, test) { return true }
        guard test.looksIntoArrays, try walker.kind(at: position) == .array else { return false }
        var elements = try walker.elements(of: position)
        while let element = try elements.next() {
            if try passes(element, test) { return true }
        }
        return false
    }

    private mutating func passes(_ position: Int, _ test: Filter.Test) throws(CorruptJSON) -> Bool {
        switch test {
        case .equal(let literal): return try walker.equals(position, literal)
        case .less(let literal): return try walker.bracketedOrder(position, literal).map { $0 < 0 } ?? false
        case .lessOrEqual(let literal): return try walker.bracketedOrder(position, literal).map { $0 <= 0 } ?? false
        case .greater(let literal): return try walker.bracketedOrder(position, literal).map { $0 > 0 } ?? false
        case .greaterOrEqual(let literal):
            return try walker.bracketedOrder(position, literal).map { $0 >= 0 } ?? false
        case .in(let literals): return try literals.contains(position, in: walker)
        case .exists: return true
        case .type(let types): return try !types.isDisjoint(with: walker.type(at: position))
        case .regex(let pattern): return try matches(pattern, at: position)
        case .remainder(let divisor, let remainder):
            return try walker.remainder(of: position, by: divisor) == remainder
        case .size(let size): return try walker.hasSize(size, at: position)
        case .elementObject(let node): return try element(of: position, for: node, isObject: true)
        case .elementValue(let node): return try element(of: position, for: node, isObject: false)
        }
    }

    private mutating func matches(_ pattern: Pattern, at position: Int) throws(CorruptJSON) -> Bool {
        guard try walker.kind(at: position) == .string else { return false }
        let text = try walker.text(at: position)
        let outcome =
            text.hasEscapes
            ? try walker.decode(text).withBytes { pattern.match($0) }
            : pattern.match(walker.bytes(text.start, text.end))
        switch outcome {
        case .matches: return true
        case .differs: return false
        case .damaged: throw CorruptJSON(position: position)
        case .noMemory: throw refuse("no memory to match a regular expression", .noMemory)
        case .tooExpensive:
            let shown = String(decoding: pattern.text.prefix(100), as: UTF8.self)
            throw refuse(
                "the \"$regex\" \(shown) is too expensive on a text of \(text.end - text.start) bytes: "
                    + "avoid repetitions within repetitions")
        }
    }

    private mutating func element(
        of position: Int, for node: Filter.Node, isObject: Bool
    ) throws(CorruptJSON) -> Bool {
        guard try walker.kind(at: position) == .array else { return false }
        var elements = try walker.elements(of: position)
        var start = position
        while let element = try elements.next() {
            try spend(element - start)
            start = element
            if isObject {
                let kind = try walker.kind(at: element)
                guard kind == .object || kind == .array else { continue }
            }
            if try holds(node, at: element) { return true }
        }
        return false
    }
}

extension Filter.Test {
    /// Whether a path passes that leads nowhere.
    fileprivate var acceptsMissing: Bool {
        switch self {
        case .equal(.null), .lessOrEqual(.null), .greaterOrEqual(.null): true
        case .in(let literals): literals.hasNull
        default: false
        }
    }

    fileprivate var looksIntoArrays: Bool {
        switch self {
        case .exists, .size, .elementObject, .elementValue: false
        default: true
        }
    }
}

extension JSONWalker {
    /// Nil where the value is not of the literal's type: then they do not compare.
    fileprivate func bracketedOrder(_ position: Int, _ literal: JSONValue) throws(CorruptJSON) -> Int? {
        try kind(at: position) == literal.kind ? try order(sameKind: position, literal) : nil
    }

    fileprivate func type(at position: Int) throws(CorruptJSON) -> TypeSet {
        switch try kind(at: position) {
        case .null: .null
        case .boolean: .boolean
        case .string: .string
        case .object: .object
        case .array: .array
        case .number:
            switch try number(at: position) {
            case .integer(let integer): Int32(exactly: integer) == nil ? .long : .int
            case .real: .double
            }
        }
    }

    /// The remainder has the sign of the number, which loses its fraction first. Nil where the value is no number,
    /// or none that 64 bits hold.
    fileprivate func remainder(of position: Int, by divisor: Int64) throws(CorruptJSON) -> Int64? {
        guard try kind(at: position) == .number else { return nil }
        let dividend: Int64
        switch try number(at: position) {
        case .integer(let integer): dividend = integer
        case .real(let real):
            guard let whole = Int64(exactly: real.rounded(.towardZero)) else { return nil }
            dividend = whole
        }
        // Int64.min by -1 overflows, and leaves nothing.
        return divisor == -1 ? 0 : dividend % divisor
    }

    fileprivate func hasSize(_ size: Int, at position: Int) throws(CorruptJSON) -> Bool {
        guard try kind(at: position) == .array else { return false }
        var elements = try elements(of: position)
        for _ in 0..<size { if try elements.next() == nil { return false } }
        return try elements.next() == nil
    }
}
