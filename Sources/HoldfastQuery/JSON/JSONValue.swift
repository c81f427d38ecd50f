package import CHoldfastPayload
public import HoldfastEnvironment

/// How large and how deep one payload may be.
public struct PayloadLimits: Sendable, Equatable {
    public var maxBytes: Int
    /// Nested arrays and objects; a scalar has depth 0, `{}` and `[]` have depth 1.
    public var maxDepth: Int

    public init(maxBytes: Int = 16 << 20, maxDepth: Int = 100) {
        self.maxBytes = maxBytes
        self.maxDepth = maxDepth
    }

    public static let standard = PayloadLimits()
    /// What no store goes beyond.
    package static let widest = PayloadLimits(maxBytes: 268_435_456, maxDepth: Int(HFPAYLOAD_WIDEST_DEPTH))

    package var c: hfpayload_limits { hfpayload_limits(max_bytes: max(0, maxBytes), max_depth: max(0, maxDepth)) }
}

/// A small payload as a tree: options, filters, patches. Entities are never held this way; they are
/// walked in place by `JSONWalker`.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    /// UTF-8, escapes resolved.
    case string([UInt8])
    case array([JSONValue])
    /// In the order of the text; no name occurs twice.
    case object([Member])

    public struct Member: Sendable, Hashable {
        public let name: [UInt8]
        public let value: JSONValue

        public init(name: [UInt8], value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// A member of an object; nil where there is none, or the value is no object.
    package func member(_ name: StaticString) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.elementsEqual(name.description.utf8) }?.value
    }

    /// Parses one JSON value of any type. `what` names the payload in messages, without an article:
    /// "store options".
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, what: String, limits: PayloadLimits = .standard
    ) throws(HoldfastError) -> JSONValue {
        let tree = try tree(of: bytes, what: what, limits)
        defer { hfpayload_tree_free(tree) }
        // What it is made for takes about as much again.
        try Memory.ask(for: 2 * hfpayload_value_weight(hfpayload_tree_root(tree)))
        return JSONValue(hfpayload_tree_root(tree))
    }

    /// Checks that these bytes are one JSON value of any type. `what` as above.
    package static func check(
        _ bytes: UnsafeRawBufferPointer, what: String, limits: PayloadLimits
    ) throws(HoldfastError) {
        // Nearly every one is an object without a member of no name, and as such is checked without a tree.
        if (try? EntityPayload(bytes, key: "", limits: limits)) != nil { return }
        hfpayload_tree_free(try tree(of: bytes, what: what, limits))
    }

    /// To be freed.
    private static func tree(
        of bytes: UnsafeRawBufferPointer, what: String, _ limits: PayloadLimits
    ) throws(HoldfastError) -> OpaquePointer {
        var error = hfpayload_error()
        // The parser takes no null pointer, and an empty buffer may have no address.
        let empty: StaticString = ""
        let start = bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
        guard
            let tree = hfpayload_tree_parse(
                start.assumingMemoryBound(to: CChar.self), bytes.count, limits.c, &error)
        else { throw HoldfastError(payload: error, what: what) }
        return tree
    }

    /// Recurses no deeper than the depth limit under which the tree was parsed.
    private init(_ value: OpaquePointer) {
        switch hfpayload_value_type(value) {
        case HFPAYLOAD_FALSE: self = .bool(false)
        case HFPAYLOAD_TRUE: self = .bool(true)
        case HFPAYLOAD_INTEGER: self = .integer(hfpayload_value_integer(value))
        case HFPAYLOAD_REAL: self = .real(hfpayload_value_real(value))
        case HFPAYLOAD_STRING:
            var length = 0
            let bytes = hfpayload_value_string(value, &length)
            self = .string(Array(UnsafeRawBufferPointer(start: bytes, count: length)))
        case HFPAYLOAD_ARRAY:
            self = .array((0..<hfpayload_value_count(value)).map { JSONValue(hfpayload_value_element(value, $0)) })
        case HFPAYLOAD_OBJECT:
            var members: [Member] = []
            members.reserveCapacity(hfpayload_value_count(value))
            var next = hfpayload_object_first(value)
            while let member = next {
                var length = 0
                let name = hfpayload_member_name(member, &length)
                members.append(
                    Member(
                        name: Array(UnsafeRawBufferPointer(start: name, count: length)),
                        value: JSONValue(hfpayload_member_value(member))))
                next = hfpayload_object_next(value, member)
            }
            self = .object(members)
        default: self = .null
        }
    }

    /// The type with its article, for messages.
    package var typeInWords: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .real: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension HoldfastError {
    /// The one place where a refusal of the C parser becomes an error.
    package init(payload error: hfpayload_error, what: String) {
        let reason = withUnsafeBytes(of: error.message) { message in
            String(decoding: message.prefix { $0 != 0 }, as: UTF8.self)
        }
        let status: Status
        let lead: String
        switch error.failure {
        case HFPAYLOAD_NO_MEMORY: (status, lead) = (.noMemory, "no memory to read the \(what)")
        case HFPAYLOAD_INVALID_ID: (status, lead) = (.invalidID, "invalid id in the \(what)")
        case HFPAYLOAD_NOT_AN_OBJECT: (status, lead) = (.invalidEntity, "invalid entity in the \(what)")
        default: (status, lead) = (.invalidJSON, "invalid JSON in the \(what)")
        }
        self.init(
            status, "\(lead): \(reason) at byte \(error.position)",
            detail: [("position", .number(UInt64(error.position)))])
    }

    /// For stored bytes that turn out to be no JSON. Whoever knows the entity adds its name.
    package init(_ corrupt: CorruptJSON) {
        self.init(
            .corrupt, "a stored entity is not valid JSON at byte \(corrupt.position)",
            detail: [("position", .number(UInt64(corrupt.position)))])
    }
}
