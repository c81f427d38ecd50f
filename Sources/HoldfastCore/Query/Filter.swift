/// A query's condition, compiled: which entities it holds for.
///
/// The language is a part of MongoDB's, with its semantics. So far: `{"path": literal}` and
/// `{"path": {"$eq": literal}}`, all of which must hold; `{}` holds for every entity.
///
/// - A path's parts are separated by dots. Arrays on the way are entered: any element that is an
///   object may continue the path, and a part that is a number also picks the element of that index.
/// - A literal matches an equal value and, where the path ends at an array, any equal element.
/// - null also matches where the path leads nowhere.
/// - Numbers compare by value, `1 == 1.0`; other types equal only their own. Objects are equal with
///   equal members in the same order; strings with equal UTF-8 bytes.
public struct Filter: Sendable, Equatable {
    /// The filter that every entity matches.
    public static let all = Filter(conditions: [])

    /// The operators that a condition may use.
    static let operators = ["$eq"]

    let conditions: [Condition]

    /// One path with what it must lead to.
    struct Condition: Sendable, Equatable {
        let path: Path
        let operand: JSONValue
    }

    /// Whether the filter holds for every entity, so that matching is unneeded.
    public var isAll: Bool { conditions.isEmpty }

    /// Compiles a filter. `what` names it in messages, without an article.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, what: String = "filter", limits: PayloadLimits = .standard
    ) throws(HoldfastError) -> Filter {
        try Filter(JSONValue.parse(bytes, what: what, limits: limits), what: what)
    }

    init(_ value: JSONValue, what: String) throws(HoldfastError) {
        guard case .object(let members) = value else {
            throw HoldfastError(.invalidQuery, "the \(what) must be a JSON object, not \(value.typeInWords)")
        }
        var conditions: [Condition] = []
        for member in members {
            if member.name.first == UInt8(ascii: "$") {
                throw Self.unknownOperator(member.name, "at the top level of the \(what)", path: nil)
            }
            let path = try Path(member.name, what: what)
            if let operators = try Self.operatorsOf(member.value, at: path, what: what) {
                conditions += operators.map { Condition(path: path, operand: $0.value) }
            } else {
                conditions.append(Condition(path: path, operand: member.value))
            }
        }
        self.init(conditions: conditions)
    }

    private init(conditions: [Condition]) { self.conditions = conditions }

    /// The operators of a condition; nil where the value is a literal. An object whose names mix both
    /// is refused: whatever it was meant to be, it would match something else.
    private static func operatorsOf(
        _ value: JSONValue, at path: Path, what: String
    ) throws(HoldfastError) -> [JSONValue.Member]? {
        guard case .object(let members) = value, members.contains(where: { $0.name.first == UInt8(ascii: "$") })
        else { return nil }
        for member in members where !operators.contains(where: { $0.utf8.elementsEqual(member.name) }) {
            throw unknownOperator(member.name, "at \"\(path.text)\" in the \(what)", path: path)
        }
        return members
    }

    private static func unknownOperator(_ name: [UInt8], _ place: String, path: Path?) -> HoldfastError {
        let name = String(decoding: name, as: UTF8.self)
        var detail: [(name: String, value: HoldfastError.DetailValue)] = [("operator", .text(name))]
        if let path { detail.append(("path", .text(path.text))) }
        detail.append(("supported", .texts(operators)))
        let supported = operators.map { "\"\($0)\"" }.joined(separator: ", ")
        return HoldfastError(
            .invalidQuery, "unknown operator \"\(name)\" \(place); supported are \(supported) below a path",
            detail: detail)
    }

    /// The only id that an entity matching this filter can have, if the filter says so, which makes
    /// the query a point read. `key` names the repository's key field. The entity that is found must
    /// still be matched: the filter may ask for more, and 42 and "42" are one id but two values.
    public func idEquality(key: String) -> EntityID? {
        for condition in conditions
        where condition.path.parts.count == 1 && condition.path.parts[0].name.elementsEqual(key.utf8) {
            switch condition.operand {
            case .string(let bytes): return EntityID(unchecked: bytes)
            case .integer(let number): return EntityID(unchecked: Array(String(number).utf8))
            case .real(let number):
                if let integer = Int64(exactly: number) { return EntityID(unchecked: Array(String(integer).utf8)) }
            default: break
            }
        }
        return nil
    }
}

/// A dotted path into a document.
struct Path: Sendable, Equatable {
    /// Positions in a path are the bits of a word while it is matched; the last bit stays free.
    static let maxParts = 63

    let parts: [Part]

    struct Part: Sendable, Equatable {
        let name: [UInt8]
        /// The index that the name means in an array: digits without a leading zero.
        let index: Int?
        /// The parts of the path with this name, as bits.
        let sameName: UInt64
    }

    /// The parts that are indexes, as bits.
    let indexes: UInt64

    init(_ text: [UInt8], what: String) throws(HoldfastError) {
        let names = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
        guard names.count <= Self.maxParts else {
            throw HoldfastError(
                .invalidQuery, "a path in the \(what) has \(names.count) parts; \(Self.maxParts) are allowed")
        }
        var indexes: UInt64 = 0
        parts = names.enumerated().map { position, name in
            let index = Self.index(name)
            if index != nil { indexes |= 1 << UInt64(position) }
            var sameName: UInt64 = 0
            for (other, otherName) in names.enumerated() where otherName == name { sameName |= 1 << UInt64(other) }
            return Part(name: name, index: index, sameName: sameName)
        }
        self.indexes = indexes
    }

    /// As it was written.
    var text: String { parts.map { String(decoding: $0.name, as: UTF8.self) }.joined(separator: ".") }

    private static func index(_ name: [UInt8]) -> Int? {
        guard name.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            name.count == 1 || name.first != UInt8(ascii: "0")
        else { return nil }
        return Int(String(decoding: name, as: UTF8.self))
    }
}
