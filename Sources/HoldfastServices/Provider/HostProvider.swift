internal import HoldfastCore
public import HoldfastEnvironment
public import HoldfastQuery

/// A place of the host's where a store's entities live. Four functions are enough: save, fetch, fetch all, delete.
///
/// Entities are known by the name of their repository and their id; a body is the entity's JSON object. Functions are called
/// on whatever thread reads or commits: one call at a time, unless the store was opened with "concurrent_calls"; even then
/// never two that write. They must not use the store that calls them, nor wait for a thread that does.
///
/// `ProviderStorage` makes a storage of it. What it promises of atomicity and durability, the store promises.
public protocol HostProvider: AnyObject, Sendable {
    /// Which of the optional functions it has.
    var abilities: HostProviderAbilities { get }

    /// Stores an entity, in place of one that is there.
    func save(_ repository: String, _ id: EntityID, _ body: [UInt8]) throws(HoldfastError)

    /// The body; nil where there is no such entity.
    func fetch(_ repository: String, _ id: EntityID) throws(HoldfastError) -> [UInt8]?

    /// Hands every entity of a repository to `visit`, id and body, in any order. Both are lent for the call.
    func fetchAll(
        _ repository: String, _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(HoldfastError)

    /// Deletes an entity. One that is not there is no failure.
    func delete(_ repository: String, _ id: EntityID) throws(HoldfastError)

    // MARK: Optional

    /// Carries out all of the writes, or none and throws.
    func apply(_ writes: [HostWrite]) throws(HoldfastError)

    /// As `fetchAll`, but may leave out entities that do not match the filter, a JSON text; the library matches what it is
    /// given, so that understanding a part of the filter is enough.
    func find(
        _ repository: String, _ filter: [UInt8], _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(HoldfastError)

    /// A number that is another one after each change of what is stored, whoever makes it. Called at every read.
    func changeToken() throws(HoldfastError) -> UInt64

    /// Makes all writes before durable.
    func sync() throws(HoldfastError)
}

public struct HostProviderAbilities: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let apply = HostProviderAbilities(rawValue: 1)
    public static let find = HostProviderAbilities(rawValue: 2)
    public static let changeToken = HostProviderAbilities(rawValue: 4)
    public static let sync = HostProviderAbilities(rawValue: 8)
}

/// One write of several that a provider carries out together.
public struct HostWrite: Sendable {
    public var repository: String
    public var id: EntityID
    /// Nil: delete.
    public var body: [UInt8]?
}

/// For providers that have none of the optional functions.
extension HostProvider {
    public var abilities: HostProviderAbilities { [] }

    public func apply(_ writes: [HostWrite]) throws(HoldfastError) { throw missing("apply") }

    public func find(
        _ repository: String, _ filter: [UInt8], _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(HoldfastError) {
        throw missing("find")
    }

    public func changeToken() throws(HoldfastError) -> UInt64 { throw missing("changeToken") }

    public func sync() throws(HoldfastError) { throw missing("sync") }

    private func missing(_ name: String) -> HoldfastError {
        HoldfastError(.unsupported, "the provider has no \(name): leave it out of its abilities")
    }
}
