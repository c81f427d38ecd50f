public import HoldfastEnvironment

/// Reads an options object by strict rules, because a typo must not be silent: a wrong type, a value
/// out of range and a name that nobody asks for are refused by name.
///
///     var options = try OptionReader(json: bytes, what: "transaction options")
///     let timeout = try options.milliseconds("timeout_ms") ?? .seconds(5)
///     let isolation = try options.text("isolation", oneOf: ["serializable", "snapshot"])
///     try options.finish()
public struct OptionReader: Sendable {
    private let what: String
    private let given: [JSONValue.Member]
    private var asked: [String] = []

    /// `what` names the options in messages, without an article. No bytes at all, or none in them,
    /// stand for "all defaults".
    public init(json: UnsafeRawBufferPointer?, what: String) throws(HoldfastError) {
        self.what = what
        guard let json, !json.isEmpty else {
            given = []
            return
        }
        let value = try JSONValue.parse(json, what: what)
        guard case .object(let members) = value else {
            throw HoldfastError(.invalidOption, "the \(what) must be a JSON object, not \(value.typeInWords)")
        }
        given = members
    }

    /// Members that were read already. `what` as above.
    package init(members: [JSONValue.Member], what: String) {
        self.what = what
        given = members
    }

    public init(json: [UInt8]?, what: String) throws(HoldfastError) {
        guard let json else {
            self = try OptionReader(json: nil as UnsafeRawBufferPointer?, what: what)
            return
        }
        self = try json.withUnsafeBufferPointer { bytes throws(HoldfastError) in
            try OptionReader(json: UnsafeRawBufferPointer(bytes), what: what)
        }
    }

    // MARK: Reading

    /// The option as it was given, of any type.
    public mutating func value(_ name: String) -> JSONValue? {
        if !asked.contains(name) { asked.append(name) }
        return given.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    /// A text; with `oneOf`, one of those.
    public mutating func text(
        _ name: String, oneOf allowed: [String]? = nil
    ) throws(HoldfastError) -> String? {
        guard let value = value(name) else { return nil }
        if case .string(let bytes) = value {
            let text = String(decoding: bytes, as: UTF8.self)
            // Compared as bytes: Swift's == would take canonically equivalent spellings for one.
            if allowed?.contains(where: { $0.utf8.elementsEqual(bytes) }) ?? true { return text }
        }
        throw refusal(of: name, value, allowed: allowed.map(Self.choice) ?? "a string")
    }

    /// A whole number within a range.
    public mutating func integer(
        _ name: String, in range: ClosedRange<Int64>
    ) throws(HoldfastError) -> Int64? {
        guard let value = value(name) else { return nil }
        if case .integer(let number) = value, range.contains(number) { return number }
        throw refusal(of: name, value, allowed: "an integer \(Self.bounds(range))")
    }

    public mutating func boolean(_ name: String) throws(HoldfastError) -> Bool? {
        guard let value = value(name) else { return nil }
        if case .bool(let flag) = value { return flag }
        throw refusal(of: name, value, allowed: "true or false")
    }

    /// The permissions of a file, as chmod(1) takes them: "0640". Its owner must be able to read and write it.
    package mutating func fileMode(_ name: String) throws(HoldfastError) -> UInt32? {
        guard let value = value(name) else { return nil }
        if case .string(let bytes) = value, 3...4 ~= bytes.count, bytes.allSatisfy({ (0x30...0x37).contains($0) }),
            let mode = UInt32(String(decoding: bytes, as: UTF8.self), radix: 8), mode <= 0o777, mode & 0o600 == 0o600
        {
            return mode
        }
        throw refusal(of: name, value, allowed: "a string of octal digits from \"0600\" to \"0777\"")
    }

    /// Options within the options; `what` names them in messages.
    public mutating func options(_ name: String, what: String) throws(HoldfastError) -> OptionReader? {
        guard let value = value(name) else { return nil }
        if case .object(let members) = value { return OptionReader(members: members, what: what) }
        throw refusal(of: name, value, allowed: "an object")
    }

    /// A span of time, given as a whole number of milliseconds. The widest range is 292 years, so that
    /// nanoseconds fit 64 bits.
    public mutating func milliseconds(
        _ name: String, in range: ClosedRange<Int64> = 0...(Int64.max / 1_000_000)
    ) throws(HoldfastError) -> Duration? {
        guard let value = value(name) else { return nil }
        if case .integer(let number) = value, range.contains(number) { return .milliseconds(number) }
        throw refusal(of: name, value, allowed: "an integer of milliseconds \(Self.bounds(range))")
    }

    /// Refuses the first option that was given and never asked for.
    public func finish() throws(HoldfastError) {
        guard let stranger = given.first(where: { member in !asked.contains { $0.utf8.elementsEqual(member.name) } })
        else { return }
        let name = String(decoding: stranger.name, as: UTF8.self)
        var detail: [(name: String, value: HoldfastError.DetailValue)] = [("option", .text(name))]
        var message = "unknown option \(Self.shown(.string(stranger.name))) in the \(what)"
        if let nearest = Spelling.nearest(to: stranger.name, among: asked) {
            detail.append(("nearest", .text(nearest)))
            message += "; did you mean \"\(nearest)\"?"
        } else if !asked.isEmpty {
            message += "; valid are \(Self.list(asked))"
        }
        throw HoldfastError(.invalidOption, message, detail: detail)
    }

    // MARK: Messages

    private func refusal(of name: String, _ value: JSONValue, allowed: String) -> HoldfastError {
        HoldfastError(
            .invalidOption,
            "option \"\(name)\" in the \(what) must be \(allowed), not \(Self.shown(value))",
            detail: [("option", .text(name))])
    }

    private static func list(_ names: [String]) -> String {
        names.map { "\"\($0)\"" }.joined(separator: ", ")
    }

    /// `"a"`, `"b"` or `"c"`.
    private static func choice(_ names: [String]) -> String {
        names.count < 2 ? list(names) : "\(list(names.dropLast())) or \(list(names.suffix(1)))"
    }

    private static func bounds(_ range: ClosedRange<Int64>) -> String {
        range.upperBound == .max || range.upperBound == .max / 1_000_000
            ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
    }

    /// The given value as JSON, on one line and not too long for a message.
    private static func shown(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.value(value)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        return text.count > 60 ? text.prefix(57) + "..." : text
    }
}

/// Finds the name that a typo was meant to be.
enum Spelling {
    /// The nearest of the names by Damerau-Levenshtein distance (in its form with adjacent swaps, each
    /// byte edited once), if near enough: a third of the name's length, three edits at most.
    static func nearest(to name: [UInt8], among names: [String]) -> String? {
        guard name.count <= 64 else { return nil }  // longer ones are no typos, and cost time
        let limit = min(3, max(1, name.count / 3))
        return names.map { (name: $0, distance: distance(name, Array($0.utf8))) }
            .filter { $0.distance <= limit }
            .min { $0.distance < $1.distance }?.name
    }

    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for i in 0..<left.count {
            var row = [i + 1]
            for j in 0..<right.count {
                var best = min(last[j + 1] + 1, row[j] + 1, last[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, beforeLast[j - 1] + 1)
                }
                row.append(best)
            }
            (beforeLast, last) = (last, row)
        }
        return last[right.count]
    }
}
