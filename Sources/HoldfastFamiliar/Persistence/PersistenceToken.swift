internal import Foundation

/// Names one request, save or delete among those that are under way at once.
///
///     store.dispatch(.request(favourites, token: "favourites"))
///     store.dispatch(.cancelRequest("favourites"))
public struct PersistenceToken: Sendable, Hashable, Codable, ExpressibleByStringLiteral, CustomStringConvertible {
    private let name: String

    /// The token of this name.
    public init(_ name: String) { self.name = name }

    /// The token of this name.
    public init(stringLiteral name: String) { self.name = name }

    /// One that no other is equal to.
    public init() { name = UUID().uuidString }

    /// Its name.
    public var description: String { name }
}
