public import Foundation

/// What may identify an entity: the type of its `id`.
///
/// An entity is stored under the text of its id, which must be the text, or the decimal digits of the integer, that
/// its encoding holds under the repository's key.
///
/// `String`, `Int`, `Int64`, `UUID` and optionals of them are such types. A type of your own becomes one by conforming,
/// without more if it is `RawRepresentable` or `LosslessStringConvertible` (in this order):
///
///     struct SongID: RawRepresentable, Codable, Hashable, EntityIdentifier { var rawValue: String }
///
/// With an optional id the library assigns one to each entity that comes without: a UUID of version 7, which the id's
/// type must be able to hold.
public protocol EntityIdentifier: Hashable, Sendable {
    /// The id as text; nil for the id of an entity that has none yet.
    var identifierText: String? { get }
    /// The id of this text, if the type can hold it.
    init?(identifierText: String)
}

extension EntityIdentifier where Self: LosslessStringConvertible {
    /// The id's description.
    public var identifierText: String? { description }
    /// The id of this description.
    public init?(identifierText: String) { self.init(identifierText) }
}

extension EntityIdentifier where Self: RawRepresentable, RawValue: EntityIdentifier {
    /// The raw value's text.
    public var identifierText: String? { rawValue.identifierText }
    /// The id with the raw value of this text.
    public init?(identifierText: String) {
        guard let rawValue = RawValue(identifierText: identifierText) else { return nil }
        self.init(rawValue: rawValue)
    }
}

extension EntityIdentifier
where Self: RawRepresentable, Self: LosslessStringConvertible, RawValue: EntityIdentifier {
    /// The raw value's text: that is what is encoded.
    public var identifierText: String? { rawValue.identifierText }
    /// The id with the raw value of this text.
    public init?(identifierText: String) {
        guard let rawValue = RawValue(identifierText: identifierText) else { return nil }
        self.init(rawValue: rawValue)
    }
}

extension String: EntityIdentifier {}
extension Int: EntityIdentifier {}
extension Int64: EntityIdentifier {}

/// In upper case, as `JSONEncoder` writes it: a store that other languages share should hold no other.
extension UUID: EntityIdentifier {
    /// The UUID in upper case.
    public var identifierText: String? { uuidString }
    /// The UUID of this text, in any case.
    public init?(identifierText: String) { self.init(uuidString: identifierText) }
}

extension Optional: EntityIdentifier where Wrapped: EntityIdentifier {
    /// The id's text, or nil.
    public var identifierText: String? { self.flatMap(\.identifierText) }
    /// The id of this text, if the wrapped type can hold it.
    public init?(identifierText: String) {
        guard let wrapped = Wrapped(identifierText: identifierText) else { return nil }
        self = .some(wrapped)
    }
}
