public import Foundation
public import Holdfast

/// A preference: its name, the type of its value, and its value where none is stored.
///
///     extension Preference where Value == Double {
///         static var volume: Self { Self("volume", default: 0.5) }
///     }
public struct Preference<Value: Codable & Sendable>: Sendable {
    /// Its name: the id of what is stored.
    public var name: String
    /// Its value where none is stored.
    public var defaultValue: Value

    /// A preference of this name.
    public init(_ name: String, default defaultValue: Value) {
        self.name = name
        self.defaultValue = defaultValue
    }
}

/// Named values in a repository of a store, each of a type of its own, stored as `{"id": name, "value": value}`.
///
///     let settings = PreferenceStorage(store, named: "settings")
///     try await settings.set(.volume, to: 0.75)
///     let volume = try await settings.get(.volume)
///
/// Its calls join the transaction that they are made in.
public struct PreferenceStorage: Sendable {
    private let store: Store
    private let name: String
    private let encoder: JSONEncoder?
    private let decoder: JSONDecoder?

    /// For a repository of this name; `encoder` and `decoder` as for `Store.repository`.
    public init(
        _ store: Store, named name: String = "preferences", encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil
    ) {
        self.store = store
        self.name = name
        self.encoder = encoder
        self.decoder = decoder
    }

    /// The value, or the default where none is stored. Throws `.corrupt`, which names it, when what is stored is no
    /// `Value`: never is the default answered for what cannot be read.
    public func get<Value>(_ preference: Preference<Value>) async throws -> Value {
        guard let entry = try await entries(of: preference).fetch(id: preference.name) else {
            return preference.defaultValue
        }
        return entry.value
    }

    /// Stores a value, whether there is one or not.
    public func set<Value>(_ preference: Preference<Value>, to value: Value) async throws {
        try await entries(of: preference).save(KeyValueEntry(id: preference.name, value: value))
    }

    /// Takes the value away, so that the default holds again; there may be none.
    public func delete<Value>(_ preference: Preference<Value>) async throws {
        try await entries(of: preference).delete(id: preference.name, missingOK: true)
    }

    private func entries<Value>(of preference: Preference<Value>) -> Holdfast.Repository<KeyValueEntry<Value>> {
        store.repository(of: KeyValueEntry<Value>.self, named: name, encoder: encoder, decoder: decoder)
    }
}
