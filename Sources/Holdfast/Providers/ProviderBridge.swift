internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastServices

/// What a store must know of its provider.
protocol StoreProvider: AnyObject, Sendable {
    /// Refuses a repository that the provider cannot keep.
    func requireKeeps(_ repository: String) throws(CoreError)
}

extension StoreProvider {
    /// Refuses a call from inside one of the provider's functions, for which the store waits.
    func requireOutside() throws(CoreError) {
        guard ProviderScope.running.contains(ObjectIdentifier(self)) else { return }
        throw CoreError(.reentrant, "a provider's function must not use the store that calls it: let it return first")
    }
}

/// The providers in whose functions a task is, for a store each.
private enum ProviderScope {
    @TaskLocal static var running: [ObjectIdentifier] = []
}

/// How a provider's entities and the store's texts become each other.
struct ProvidedForm<Entity: Codable & Identifiable & Sendable>: Sendable where Entity.ID: Sendable {
    /// The one repository that the provider keeps; nil: every one.
    var repository: String?
    /// The id of an entity in a repository.
    var id: @Sendable (_ repository: String, _ id: String) throws -> Entity.ID
    /// An entity of this id in a repository, of its text.
    var entity: @Sendable (_ repository: String, _ id: String, _ json: Data) throws -> Entity
    /// An entity's id and text.
    var stored: @Sendable (Entity) throws -> (id: String, json: Data)
    /// Which of the provider's entities are in a repository; nil: all of them.
    var isIn: (@Sendable (_ repository: String, Entity) -> Bool)?
}

/// A provider as the core calls it: with texts instead of entities, on a thread that waits for the answer.
final class ProviderBridge<Provider: StorageProvider>: HostProvider, StoreProvider {
    private let provider: Provider
    private let form: ProvidedForm<Provider.Entity>
    private let atomic: (any AtomicStorageProvider<Provider.Entity>)?
    private let counting: (any ChangeCountingStorageProvider<Provider.Entity>)?
    private let searching: (any SearchingStorageProvider<Provider.Entity>)?
    private let durable: (any DurableStorageProvider<Provider.Entity>)?

    init(_ provider: Provider, _ form: ProvidedForm<Provider.Entity>) {
        self.provider = provider
        self.form = form
        atomic = provider as? any AtomicStorageProvider<Provider.Entity>
        counting = provider as? any ChangeCountingStorageProvider<Provider.Entity>
        searching = provider as? any SearchingStorageProvider<Provider.Entity>
        durable = provider as? any DurableStorageProvider<Provider.Entity>
    }

    var abilities: HostProviderAbilities {
        var abilities: HostProviderAbilities = []
        if atomic != nil { abilities.insert(.apply) }
        if counting != nil { abilities.insert(.changeToken) }
        if searching != nil { abilities.insert(.find) }
        if durable != nil { abilities.insert(.sync) }
        return abilities
    }

    func requireKeeps(_ repository: String) throws(CoreError) {
        guard let only = form.repository, !keeps(repository) else { return }
        throw CoreError(
            .unsupported,
            "the store's provider keeps \(Provider.Entity.self) in the repository \"\(only)\" alone, and no \"\(repository)\": "
                + "open the store with a provider of StoredDocument to keep several")
    }

    private func keeps(_ repository: String) -> Bool { form.repository == nil || form.repository == repository }

    // MARK: The functions. Of another repository, which only the library itself can mean, there is nothing.

    func save(_ repository: String, _ id: EntityID, _ body: [UInt8]) throws(CoreError) {
        try requireKeeps(repository)
        try run { [self] in try await provider.save(form.entity(repository, id.text, Data(body))) }
    }

    func fetch(_ repository: String, _ id: EntityID) throws(CoreError) -> [UInt8]? {
        guard keeps(repository) else { return nil }
        return try run { [self] in
            try await provider.fetch(id: form.id(repository, id.text)).map { try Array(form.stored($0).json) }
        }
    }

    func fetchAll(
        _ repository: String, _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(CoreError) {
        guard keeps(repository) else { return }
        let entities = try run { [self] in
            guard let isIn = form.isIn else { return try await provider.fetchAll() }
            return try await provider.fetch(matching: { isIn(repository, $0) })
        }
        try hand(entities, to: visit)
    }

    func find(
        _ repository: String, _ filter: [UInt8], _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(CoreError) {
        guard keeps(repository) else { return }
        let entities = try run { [self] in
            let found = try await searching?.find(String(decoding: filter, as: UTF8.self), in: repository) ?? []
            guard let isIn = form.isIn else { return found }
            return found.filter { isIn(repository, $0) }
        }
        try hand(entities, to: visit)
    }

    private func hand(
        _ entities: [Provider.Entity], to visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(CoreError) {
        try failing {
            for entity in entities {
                let (id, json) = try form.stored(entity)
                Array(id.utf8).withUnsafeBytes { id in json.withUnsafeBytes { visit(id, $0) } }
            }
        }
    }

    func delete(_ repository: String, _ id: EntityID) throws(CoreError) {
        guard keeps(repository) else { return }
        try run { [self] in try await provider.delete(id: form.id(repository, id.text)) }
    }

    func apply(_ writes: [HostWrite]) throws(CoreError) {
        for write in writes { try requireKeeps(write.repository) }
        try run { [self] in
            let changes = try writes.map { write -> StorageChange<Provider.Entity> in
                guard let body = write.body else { return .delete(try form.id(write.repository, write.id.text)) }
                return .save(try form.entity(write.repository, write.id.text, Data(body)))
            }
            try await atomic?.apply(changes)
        }
    }

    func changeToken() throws(CoreError) -> UInt64 { try run { [self] in try await counting?.changeCount() ?? 0 } }

    func sync() throws(CoreError) { try run { [self] in try await durable?.sync() } }

    // MARK: Calling them

    private func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws(CoreError) -> Value {
        try failing {
            try CallingThread.run { [self] in
                try await ProviderScope.$running.withValue(ProviderScope.running + [ObjectIdentifier(self)]) {
                    try await body()
                }
            }
        }
    }

    /// What a provider throws is what the store's own error is caused by.
    private func failing<Value>(_ body: () throws -> Value) throws(CoreError) -> Value {
        do {
            return try body()
        } catch {
            var failure = CoreError(error is DecodingError ? .corrupt : .hostError, EntityCoding.reason(error))
            failure.thrown = error
            throw failure
        }
    }
}
