/// The decoder of a `Probe`: whatever is asked for is there. Arrays have two elements, dictionaries one.
struct ProbeDecoder: Decoder {
    let probe: Probe
    var codingPath: [any CodingKey]
    /// In how many of its like the type is that is being decoded.
    var nesting = 0
    /// Whether collections are empty.
    private var isEmpty: Bool { nesting > 0 }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members<Key>(decoder: self))
    }
    func unkeyedContainer() -> any UnkeyedDecodingContainer { Elements(decoder: self) }
    func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }

    private func value<Value: Decodable>(of type: Value.Type, _ key: (any CodingKey)? = nil) throws -> Value {
        try probe.value(of: type, at: codingPath + (key.map { [$0] } ?? []))
    }

    private func decoder(at key: any CodingKey) -> ProbeDecoder {
        ProbeDecoder(probe: probe, codingPath: codingPath + [key])
    }

    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: ProbeDecoder

        var codingPath: [any CodingKey] { decoder.codingPath }
        /// Of a dictionary: text that is a number, too. Of an enumeration whose cases have values: one of them.
        var allKeys: [Key] {
            if let key = Key(stringValue: "1") { return decoder.isEmpty ? [] : [key] }
            return (try? decoder.probe.enumeration(Key.self, at: codingPath, nesting: decoder.nesting)).map { [$0] }
                ?? []
        }

        func contains(_ key: Key) -> Bool { true }
        func decodeNil(forKey key: Key) -> Bool { false }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try decoder.value(of: type, key)
        }
        func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
            decoder.probe.isOpen(type) ? nil : try decoder.value(of: type, key)
        }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedDecodingContainer<Nested> { decoder.decoder(at: key).container(keyedBy: type) }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
            decoder.decoder(at: key).unkeyedContainer()
        }
        func superDecoder() -> any Decoder { decoder.decoder(at: Place("super")) }
        func superDecoder(forKey key: Key) -> any Decoder { decoder.decoder(at: key) }
    }

    private struct Elements: UnkeyedDecodingContainer {
        let decoder: ProbeDecoder
        var currentIndex = 0

        var codingPath: [any CodingKey] { decoder.codingPath }
        var count: Int? { decoder.isEmpty ? 0 : 2 }
        var isAtEnd: Bool { currentIndex >= count! }

        func decodeNil() -> Bool { false }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try decoder.value(of: type, place())
        }
        mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
            decoder.decoder(at: place()).container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer {
            decoder.decoder(at: place()).unkeyedContainer()
        }
        mutating func superDecoder() -> any Decoder { decoder.decoder(at: place()) }

        private mutating func place() -> Place {
            defer { currentIndex += 1 }
            return Place("\(currentIndex)")
        }
    }

    /// Where a value is that no key of its type's names.
    private struct Place: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init(stringValue name: String) { self.init(name) }
        init?(intValue: Int) { nil }
    }

    private struct Single: SingleValueDecodingContainer {
        let decoder: ProbeDecoder

        var codingPath: [any CodingKey] { decoder.codingPath }

        func decodeNil() -> Bool { false }
        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.value(of: type) }
    }
}
