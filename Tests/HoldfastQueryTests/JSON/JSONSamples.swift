import HoldfastEnvironment
import HoldfastQuery

/// Random JSON for property tests, from a seed that a failing test prints.
struct JSONSamples {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }

    /// Few names, so that documents, patches and filters meet; some that look like indexes.
    mutating func name() -> [UInt8] { Array(pick(["a", "b", "c", "0", "1", "ä\"\n", ""]).utf8) }

    mutating func scalar() -> JSONValue {
        switch below(10) {
        case 0, 1: .null
        case 2: .bool(below(2) == 0)
        case 3, 4: .integer(Int64(below(3)))
        case 5: .integer(pick([.max, .min, 1 << 53, 1 << 53 + 1, -1]))
        case 6: .real(pick([0.0, 1.0, 1.5, 0x1p53, 1e300, Double.leastNonzeroMagnitude, 0.1, -0.0, 0x1p63]))
        case 7: .string([])
        default: .string(Array(pick(["x", "é\u{1F600}", "\\\"\u{0}/\t", "1", "true"]).utf8))
        }
    }

    mutating func value(depth: Int) -> JSONValue {
        if depth == 0 { return scalar() }
        switch below(4) {
        case 0: return .array((0..<below(4)).map { _ in value(depth: depth - 1) })
        case 1, 2: return object(depth: depth)
        default: return scalar()
        }
    }

    mutating func object(depth: Int) -> JSONValue {
        var members: [JSONValue.Member] = []
        for _ in 0..<below(4) {
            let name = name()
            if members.contains(where: { $0.name == name }) { continue }
            members.append(.init(name: name, value: value(depth: depth - 1)))
        }
        return .object(members)
    }

    /// The value as JSON text in one of its many spellings: white space, escapes, number forms.
    mutating func text(of value: JSONValue) -> String {
        let space = pick(["", "", "", " ", "\n\t"])
        switch value {
        case .array(let elements):
            return "[" + space + elements.map { text(of: $0) }.joined(separator: space + "," + space) + space + "]"
        case .object(let members):
            let items = members.map { text(of: .string($0.name)) + space + ":" + space + text(of: $0.value) }
            return "{" + space + items.joined(separator: space + "," + space) + space + "}"
        case .string(let bytes):
            return "\"" + String(decoding: bytes, as: UTF8.self).unicodeScalars.map { spelling(of: $0) }.joined() + "\""
        case .real(let number): return below(2) == 0 ? number.description : "\(number)E0".exponentMerged
        default: return value.text
        }
    }

    private mutating func spelling(of scalar: Unicode.Scalar) -> String {
        let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
        guard mustEscape || below(4) == 0 else { return String(scalar) }
        return String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16, uppercase: unit % 2 == 0)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}

extension String {
    /// "1.5E0" stays; "1e+300E0" is no number and loses its second exponent.
    fileprivate var exponentMerged: String { contains("e") ? String(dropLast(2)) : self }

    /// Parses this text as the library does.
    func parsed() throws(HoldfastError) -> JSONValue {
        var text = self
        do {
            return try text.withUTF8 { try JSONValue.parse(UnsafeRawBufferPointer($0), what: "sample") }
        } catch { throw error as! HoldfastError }
    }

    /// Lends the text's bytes.
    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try Array(utf8).withUnsafeBytes(body)
    }
}

extension JSONValue {
    /// Compact JSON text.
    var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
