/// Where one value is written, for a type that puts itself into an encoder.
struct EntityEncoder: Encoder, SingleValueEncodingContainer {
    let writer: EntityWriter
    /// Where the value begins, and how many containers are open there.
    let start: Int
    let depth: Int

    /// Paths are not kept: whoever asks for one gets it from `JSONEncoder`.
    var codingPath: [any CodingKey] {
        writer.doubt()
        return []
    }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Whether the value was not begun before: one that was may be gone on with, which is left to `JSONEncoder`.
    private func isUnwritten() -> Bool {
        let isUnwritten = writer.isUnwritten(from: start, depth: depth)
        if !isUnwritten { writer.doubt() }
        return isUnwritten
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(
            EntityObject<Key>(writer: writer, number: isUnwritten() ? writer.begin(isObject: true) : 0))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        EntityArray(writer: writer, number: isUnwritten() ? writer.begin(isObject: false) : 0)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws {
        guard isUnwritten() else { throw writer.doubt() }
        writer.writeNull()
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        guard isUnwritten() else { throw writer.doubt() }
        try writer.write(value)
    }
}

/// Its number is 0 where there can be no such container.
private struct EntityObject<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: EntityWriter
    let number: Int

    var codingPath: [any CodingKey] {
        writer.doubt()
        return []
    }

    func encodeNil(forKey key: Key) throws {
        try writer.beginMember(key.stringValue, of: number)
        writer.writeNull()
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try writer.beginMember(key.stringValue, of: number)
        try writer.write(value)
    }

    /// The number of a container that becomes a member; 0 where there can be none.
    private func begin(isObject: Bool, _ key: Key) -> Int {
        do { try writer.beginMember(key.stringValue, of: number) } catch { return 0 }
        return writer.begin(isObject: isObject)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(EntityObject<Nested>(writer: writer, number: begin(isObject: true, key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        EntityArray(writer: writer, number: begin(isObject: false, key))
    }

    func superEncoder() -> any Encoder { superEncoder(named: "super") }
    func superEncoder(forKey key: Key) -> any Encoder { superEncoder(named: key.stringValue) }

    private func superEncoder(named name: String) -> any Encoder {
        try? writer.beginMember(name, of: number)
        return writer.encoderHere()
    }
}

private struct EntityArray: UnkeyedEncodingContainer {
    let writer: EntityWriter
    let number: Int

    var codingPath: [any CodingKey] {
        writer.doubt()
        return []
    }
    var count: Int { writer.count(of: number) }

    func encodeNil() throws {
        try writer.beginElement(of: number)
        writer.writeNull()
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try writer.beginElement(of: number)
        try writer.write(value)
    }

    private func begin(isObject: Bool) -> Int {
        do { try writer.beginElement(of: number) } catch { return 0 }
        return writer.begin(isObject: isObject)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(EntityObject<Nested>(writer: writer, number: begin(isObject: true)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        EntityArray(writer: writer, number: begin(isObject: false))
    }

    func superEncoder() -> any Encoder {
        try? writer.beginElement(of: number)
        return writer.encoderHere()
    }
}
