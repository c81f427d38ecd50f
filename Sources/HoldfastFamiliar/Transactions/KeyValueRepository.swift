public import Holdfast

/// Values by key, whose calls block the thread, as reading a file does. All throw `RepositoryError`.
public protocol KeyValueStore<Value>: Sendable {
    /// What is kept under a key.
    associatedtype Value: Sendable

    /// The value of this key, or nil.
    func get(_ key: String) throws -> Value?
    /// Stores a value, whether the key has one or not.
    func save(_ value: Value, forKey key: String) throws
    /// Replaces a key's value. Throws `.nonExistingData` when it has none.
    func update(_ value: Value, forKey key: String) throws
    /// Deletes a key's value. Throws `.nonExistingData` when it has none.
    func delete(_ key: String) throws
}

extension KeyValueStore {
    /// The value of this key, or nil.
    public subscript(key: String) -> Value? {
        get throws { try get(key) }
    }

    /// Stores a value, or deletes it where it is nil; then there may be none. (A subscript's setter could not throw.)
    public func set(_ value: Value?, forKey key: String) throws {
        if let value { return try save(value, forKey: key) }
        do { try delete(key) } catch RepositoryError.nonExistingData {}
    }
}

/// One key and its value, as they are stored: `{"id": key, "value": value}`.
public struct KeyValueEntry<Value: Codable & Sendable>: Codable, Identifiable, Sendable {
    /// The key.
    public var id: String
    /// Its value.
    public var value: Value
}

/// Values by key in a store: a repository of entries, which may also be used as such, asynchronously, in queries and in
/// operations. Inside a transaction its calls join.
public struct KeyValueRepository<Value: Codable & Sendable>: KeyValueStore {
    /// Where they are kept.
    public let entries: Holdfast.Repository<KeyValueEntry<Value>>

    /// For a repository of this name.
    public init(_ store: Store, of type: Value.Type = Value.self, named name: String) {
        entries = store.repository(of: KeyValueEntry<Value>.self, named: name)
    }

    public func get(_ key: String) throws -> Value? { try now { try $0.fetch(id: key)?.value } }

    public func save(_ value: Value, forKey key: String) throws {
        try now { _ = try $0.save(entry(key, value)) }
    }

    public func update(_ value: Value, forKey key: String) throws {
        try now { _ = try $0.update(entry(key, value)) }
    }

    public func delete(_ key: String) throws { try now { try $0.delete(id: key) } }

    private func now<Answer>(_ body: (BlockingRepository<KeyValueEntry<Value>>) throws -> Answer) throws -> Answer {
        try StoreRepository(entries).now(body)
    }

    private func entry(_ key: String, _ value: Value) -> KeyValueEntry<Value> { KeyValueEntry(id: key, value: value) }
}
