internal import HoldfastCore
internal import HoldfastEnvironment

/// One value of a text, for a type that takes itself out of a decoder.
struct EntityTextDecoder: Decoder, SingleValueDecodingContainer {
    let text: EntityText
    let place: Int

    /// Paths are not kept: whoever asks for one gets it from `JSONDecoder`.
    var codingPath: [any CodingKey] {
        _ = text.doubt()
        return []
    }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try EntityTextObject(text, place))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try EntityTextArray(text, place) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { text.isNull(at: place) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try text.decode(type, at: place) }
}

private struct EntityTextObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let text: EntityText
    private let place: Int
    /// The members' values by name, of a large object.
    private var members: [String: Int]?

    private static var fewMembers: Int { Limits.inForce.fewMembers }

    init(_ text: EntityText, _ place: Int) throws {
        guard text.values[place].kind == .plainObject else { throw text.doubt() }
        self.text = text
        self.place = place
        // Each member takes two values or more.
        guard Int(text.values[place].next) - place > 2 * Self.fewMembers else { return }
        let names = text.names(of: place)
        if names.count > Self.fewMembers {
            members = Dictionary(names.map { (text.name(at: $0), $0 + 1) }, uniquingKeysWith: { first, _ in first })
        }
    }

    var codingPath: [any CodingKey] { EntityTextDecoder(text: text, place: place).codingPath }
    var allKeys: [Key] { text.names(of: place).compactMap { Key(stringValue: text.name(at: $0)) } }

    private func find(_ key: Key) -> Int? {
        if let members { members[key.stringValue] } else { text.member(key.stringValue, of: place) }
    }

    private func require(_ key: Key) throws -> Int {
        guard let found = find(key) else { throw text.doubt() }
        return found
    }

    private func optional<Value: Decodable>(_ key: Key) throws -> Value? {
        guard let found = find(key), !text.isNull(at: found) else { return nil }
        return try text.decode(Value.self, at: found)
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { text.isNull(at: try require(key)) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try text.decode(type, at: require(key))
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try optional(key)
    }

    // The standard ones look for the key three times.
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(key) }
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(key) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        KeyedDecodingContainer(try EntityTextObject<Nested>(text, require(key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try EntityTextArray(text, require(key))
    }

    func superDecoder() throws -> any Decoder {
        guard let found = text.member("super", of: place) else { throw text.doubt() }
        return EntityTextDecoder(text: text, place: found)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { EntityTextDecoder(text: text, place: try require(key)) }
}

private struct EntityTextArray: UnkeyedDecodingContainer {
    private let text: EntityText
    private let place: Int
    private var next: Int
    let count: Int?
    private(set) var currentIndex = 0

    init(_ text: EntityText, _ place: Int) throws {
        guard text.values[place].kind == .array else { throw text.doubt() }
        self.text = text
        self.place = place
        next = place + 1
        var count = 0
        var element = next
        while element < text.values[place].next {
            count += 1
            element = Int(text.values[element].next)
        }
        self.count = count
    }

    var codingPath: [any CodingKey] { EntityTextDecoder(text: text, place: place).codingPath }
    var isAtEnd: Bool { next >= text.values[place].next }

    /// Goes on only if the element is what is wanted.
    private mutating func element<Value>(_ decode: (Int) throws -> Value) throws -> Value {
        guard !isAtEnd else { throw text.doubt() }
        let value = try decode(next)
        next = Int(text.values[next].next)
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw text.doubt() }
        guard text.isNull(at: next) else { return false }
        return try element { _ in true }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try element { [text] in try text.decode(type, at: $0) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try element { [text] in KeyedDecodingContainer(try EntityTextObject<Nested>(text, $0)) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try element { [text] in try EntityTextArray(text, $0) }
    }

    mutating func superDecoder() throws -> any Decoder {
        try element { [text] in EntityTextDecoder(text: text, place: $0) }
    }
}
