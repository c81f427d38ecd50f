internal import HoldfastEnvironment

extension ExpressionPlace {
    func text(_ value: JSONValue?) throws(HoldfastError) -> [UInt8] {
        guard case .string(let text)? = value else { throw needs("a string", not: value) }
        return text
    }

    /// A text, or a number as one; empty where there is none.
    fileprivate func textOrNumber(_ value: JSONValue?) throws(HoldfastError) -> [UInt8] {
        if value.isNullish { return [] }
        if let number = value?.number { return Conversion.text(of: number) }
        return try text(value)
    }
}

/// Operators of texts. Positions count code points.
enum Text {
    static let concatenate: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        var count = 0
        for operand in operands {
            if operand.isNullish { return .null }
            count += try place.text(operand).count
        }
        try evaluation.spend(count, place)
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for case .string(let text)? in operands { result += text }
        return .string(result)
    }

    /// By Unicode's rules, without those of a language.
    static let lowercase: UnaryFunction = { operand, place, evaluation throws(HoldfastError) in
        try changeCase(operand, place, &evaluation) { $0.lowercased() }
    }

    static let uppercase: UnaryFunction = { operand, place, evaluation throws(HoldfastError) in
        try changeCase(operand, place, &evaluation) { $0.uppercased() }
    }

    private static func changeCase(
        _ operand: JSONValue?, _ place: ExpressionPlace, _ evaluation: inout Evaluation, _ change: (String) -> String
    ) throws(HoldfastError) -> JSONValue {
        let text = try place.textOrNumber(operand)
        // A letter may become up to three.
        try evaluation.spend(3 * text.count, place)
        return .string(Array(change(String(decoding: text, as: UTF8.self)).utf8))
    }

    static let length: UnaryFunction = { operand, place, evaluation throws(HoldfastError) in
        let text = try place.text(operand)
        try evaluation.spend(text.count, place)
        return .integer(Int64(text.codePointCount))
    }

    static let substring: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        let text = try place.textOrNumber(operands[0])
        let start = try position(operands[1], "the start", place)
        let length = try position(operands[2], "the length", place)
        try evaluation.spend(text.count, place)
        let begin = text.index(0, offsetByCodePoints: start)
        let end = text.index(begin, offsetByCodePoints: length)
        return .string(Array(text[begin..<end]))
    }

    /// A whole number of 0 or more.
    static func position(
        _ value: JSONValue?, _ what: String, _ place: ExpressionPlace
    ) throws(HoldfastError) -> Int {
        let whole = try place.whole(value, what)
        guard whole >= 0 else { throw place.refusal("takes 0 or more for \(what), not \(whole): give another") }
        return Int(clamping: whole)
    }

    static let split: BinaryFunction = { text, separator, place, evaluation throws(HoldfastError) in
        if text.isNullish || separator.isNullish { return .null }
        let text = try place.text(text)
        let separator = try place.text(separator)
        guard !separator.isEmpty else {
            throw place.refusal("cannot split at an empty string: give the text that separates the parts")
        }
        let search = TextSearch(separator)
        var parts: [JSONValue] = []
        var start = 0
        while true {
            let end = search.first(in: text, start..<text.count)
            try evaluation.spend(elements: 3, place)
            try evaluation.spend((end ?? text.count) - start, place)
            parts.append(.string(Array(text[start..<(end ?? text.count)])))
            guard let end else { return .array(parts) }
            start = end + separator.count
        }
    }

    /// -1 where the text is not found.
    static let index: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        if operands[0].isNullish { return .null }
        let text = try place.text(operands[0])
        let wanted = try place.text(operands[1])
        try evaluation.spend(text.count + wanted.count, place)
        let start = operands.count > 2 ? try position(operands[2], "the start", place) : 0
        let end = operands.count > 3 ? try position(operands[3], "the end", place) : Int.max
        let begin = text.index(0, offsetByCodePoints: start)
        let length = end > start ? text.index(begin, offsetByCodePoints: end - start) - begin : 0
        guard start <= end, begin < text.count || text.codePointCount >= start else { return .integer(-1) }
        if wanted.isEmpty { return .integer(Int64(start)) }
        guard let found = TextSearch(wanted).first(in: text, begin..<begin + length) else { return .integer(-1) }
        return .integer(Int64(text.codePoints(in: 0..<found)))
    }

    static let replaceAll: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        try replace(operands, atMost: .max, place, &evaluation)
    }

    static let replaceOne: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        try replace(operands, atMost: 1, place, &evaluation)
    }

    private static func replace(
        _ operands: [JSONValue?], atMost limit: Int, _ place: ExpressionPlace, _ evaluation: inout Evaluation
    ) throws(HoldfastError) -> JSONValue {
        if operands.contains(where: \.isNullish) { return .null }
        let text = try place.text(operands[0])
        let wanted = try place.text(operands[1])
        let replacement = try place.text(operands[2])
        guard !wanted.isEmpty else {
            throw place.refusal("cannot find an empty string: give \"find\" the text to replace")
        }
        let search = TextSearch(wanted)
        var result: [UInt8] = []
        var start = 0
        var left = limit
        while left > 0, let found = search.first(in: text, start..<text.count) {
            try evaluation.spend(found - start + replacement.count, place)
            result += text[start..<found]
            result += replacement
            start = found + wanted.count
            left -= 1
        }
        try evaluation.spend(text.count - start, place)
        return .string(result + text[start...])
    }
}

/// `$trim`, `$ltrim` and `$rtrim`.
enum TextTrim {
    static let both: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        try trim(operands, left: true, right: true, place, &evaluation)
    }

    static let left: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        try trim(operands, left: true, right: false, place, &evaluation)
    }

    static let right: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        try trim(operands, left: false, right: true, place, &evaluation)
    }

    /// What is trimmed where nothing else is said: NUL and white space, as MongoDB has them.
    private static let whiteSpace = codePoints(
        Array(
            ("\0\t\n\u{B}\u{C}\r \u{A0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}"
                + "\u{2009}\u{200A}").utf8))

    private static func codePoints(_ text: [UInt8]) -> Set<ArraySlice<UInt8>> {
        var result: Set<ArraySlice<UInt8>> = []
        var index = 0
        while index < text.count {
            let end = text.index(afterCodePointAt: index)
            result.insert(text[index..<end])
            index = end
        }
        return result
    }

    private static func trim(
        _ operands: [JSONValue?], left: Bool, right: Bool, _ place: ExpressionPlace, _ evaluation: inout Evaluation
    ) throws(HoldfastError) -> JSONValue {
        if operands[0].isNullish { return .null }
        let text = try place.text(operands[0])
        var unwanted = whiteSpace
        if let characters = operands[1] {
            if case .null = characters { return .null }
            let characters = try place.text(characters)
            // A set of them takes many times as long as to go through them.
            try evaluation.spend(8 * characters.count, place)
            unwanted = codePoints(characters)
        }
        try evaluation.spend(text.count, place)
        var (start, end) = (0, text.count)
        while left, start < end {
            let next = text.index(afterCodePointAt: start)
            guard unwanted.contains(text[start..<next]) else { break }
            start = next
        }
        while right, start < end {
            let last = text.index(ofCodePointBefore: end)
            guard unwanted.contains(text[last..<end]) else { break }
            end = last
        }
        return .string(Array(text[start..<end]))
    }
}

/// `$regexMatch`. An expression that does not depend on the document is compiled once.
final class RegularExpressionMatch: ExpressionNode {
    private let input: any ExpressionNode
    private let expression: any ExpressionNode
    private let options: (any ExpressionNode)?
    private let compiled: Pattern?
    private let place: ExpressionPlace

    private init(
        _ input: any ExpressionNode, _ expression: any ExpressionNode, _ options: (any ExpressionNode)?,
        _ place: ExpressionPlace
    ) throws(HoldfastError) {
        self.input = input
        self.expression = expression
        self.options = options
        self.place = place
        if let expression = expression as? Constant, options == nil || options is Constant {
            compiled = try Self.pattern(expression.value, (options as? Constant)?.value, place)
        } else {
            compiled = nil
        }
    }

    static let compile: ExpressionForm.Compile = { compiler, value, place throws(HoldfastError) in
        let members = try compiler.members(value, required: ["input", "regex"], optional: ["options"], place)
        let input = try compiler.expression(members[0]!, below: "input")
        let expression = try compiler.expression(members[1]!, below: "regex")
        var options: (any ExpressionNode)?
        if let given = members[2] { options = try compiler.expression(given, below: "options") }
        return try RegularExpressionMatch(input, expression, options, place)
    }

    /// Nil where there is none.
    private static func pattern(
        _ expression: JSONValue?, _ options: JSONValue?, _ place: ExpressionPlace
    ) throws(HoldfastError) -> Pattern? {
        if expression.isNullish { return nil }
        let letters = options.isNullish ? [] : try place.text(options)
        guard letters.allSatisfy({ "imsx".utf8.contains($0) }) else {
            throw place.refusal("takes for its options a string of the letters i, m, s and x: leave the others out")
        }
        let text = try place.text(expression)
        do throws(Pattern.Failure) {
            return try Pattern(text, options: Set(letters).sorted())
        } catch {
            switch error {
            case .noMemory: throw HoldfastError(.noMemory, "no memory to compile a regular expression")
            case .invalid(let reason, let position):
                throw place.refusal("has no regular expression of PCRE2: \(reason), at byte \(position) of it")
            }
        }
    }

    func evaluate(_ evaluation: inout Evaluation) throws(HoldfastError) -> JSONValue? {
        let text = try input.evaluate(&evaluation)
        var pattern = compiled
        if pattern == nil {
            pattern = try Self.pattern(
                expression.evaluate(&evaluation), options?.evaluate(&evaluation), place)
        }
        guard let pattern, !text.isNullish else { return .bool(false) }
        let bytes = try place.text(text)
        // So that matching again and again in a loop is bounded, too.
        try evaluation.spend(bytes.count + 64, place)
        switch bytes.withBytes({ pattern.match($0) }) {
        case .matches: return .bool(true)
        case .differs: return .bool(false)
        case .noMemory: throw HoldfastError(.noMemory, "no memory to match a regular expression")
        case .tooExpensive, .damaged:
            throw place.refusal("takes too long for a text of \(bytes.count) bytes: simplify the regular expression")
        }
    }
}
