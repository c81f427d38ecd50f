public import Foundation

/// An entity of any type as a store hands it to a provider that keeps all of the store's repositories:
///
///     let store = try await Store.open(provider: InMemoryStorage<StoredDocument>())
public struct StoredDocument: Codable, Identifiable, Hashable, Sendable {
    /// Which entity it is. Equal are ids of the same bytes, as everywhere in a store: not what Swift takes for the same text.
    public struct ID: Codable, Hashable, Sendable {
        /// The name of its repository.
        public var repository: String
        /// Its id within that, as text.
        public var entity: String

        /// Of the entity of this id in this repository.
        public init(repository: String, entity: String) {
            self.repository = repository
            self.entity = entity
        }

        public static func == (left: ID, right: ID) -> Bool {
            left.repository.utf8.elementsEqual(right.repository.utf8)
                && left.entity.utf8.elementsEqual(right.entity.utf8)
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(Array(repository.utf8))
            hasher.combine(Array(entity.utf8))
        }
    }

    /// Which entity it is.
    public var id: ID
    /// The entity as it is stored: a JSON object in UTF-8, in which its id stands too.
    public var json: Data

    /// The entity of this id.
    public init(id: ID, json: Data) {
        self.id = id
        self.json = json
    }
}
