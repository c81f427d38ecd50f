internal import Foundation
package import HoldfastCore
package import HoldfastEnvironment
internal import HoldfastServices

extension Store {
    /// Opens a store whose entities a provider of yours keeps.
    ///
    ///     let store = try await Store.open(provider: Shelf())
    ///     let songs = store.repository(of: Song.self)
    ///
    /// The provider keeps one repository; another one is refused with `.unsupported`. Between it and the store its entities
    /// pass as JSON, as `JSONEncoder` and `JSONDecoder` read it without being told otherwise.
    ///
    /// Entities are all that the provider keeps. Versions, indexes, idempotency keys and validators are this store's, as long
    /// as it is open; of what was there before, and of what others write, every entity has a new version. A provider belongs
    /// to one store at a time.
    ///
    /// Blocking calls of repositories are refused in tasks, with `.wouldDeadlock`.
    ///
    /// - Parameters:
    ///   - provider: Where the entities are.
    ///   - name: The repository's name; without one, the type's name in lower case, as `repository(of:)` takes it.
    ///   - options: Those about files have no meaning.
    public static func open<Provider: StorageProvider>(
        provider: Provider, named name: String? = nil, _ options: StoreOptions = .init()
    ) async throws -> Store where Provider.Entity.ID: EntityIdentifier {
        let name = name ?? repositoryName(of: Provider.Entity.self)
        let coding = EntityCoding(encoder: nil, decoder: nil, key: "id")
        return try await open(
            ProviderBridge(
                provider,
                ProvidedForm(
                    repository: name,
                    id: { repository, id in
                        if let id = Provider.Entity.ID(identifierText: id) { return id }
                        throw HoldfastError(.invalidID, "the id \"\(id)\" is no \(Provider.Entity.ID.self)")
                    },
                    entity: { repository, id, json in
                        try coding.decode(Provider.Entity.self, from: Array(json), id: id, repository: repository)
                    },
                    stored: { entity in
                        (
                            entity.id.identifierText ?? "",
                            Data(try coding.encode(entity, what: "entity", status: .invalidEntity))
                        )
                    })), options)
    }

    /// Opens a store whose repositories a provider of yours keeps, all of them, as the texts that they are.
    public static func open<Provider: StorageProvider<StoredDocument>>(
        provider: Provider, _ options: StoreOptions = .init()
    ) async throws -> Store {
        try await open(ProviderBridge(provider, .documents), options)
    }

    private static func open<Provider>(
        _ bridge: ProviderBridge<Provider>, _ options: StoreOptions
    ) async throws -> Store {
        // The threads of other stores must not wait for this provider, which may use them.
        try await open(options, provider: bridge, threads: WaitingThreads()) { options throws(CoreError) in
            try openCore(bridge, options)
        }
    }

    private static func openCore(
        _ provider: any HostProvider, _ options: HoldfastCore.StoreOptions
    ) throws(CoreError) -> HoldfastCore.Store {
        var options = options
        options.concurrentCalls = true
        return try HoldfastCore.Store.open(provider: provider, options: options)
    }

    /// The store below this face, for hosts of the C interface that have a provider in Swift: the tests.
    package static func openCore(
        provider: some StorageProvider<StoredDocument>, _ options: HoldfastCore.StoreOptions
    ) throws(HoldfastEnvironment.HoldfastError) -> HoldfastCore.Store {
        try openCore(ProviderBridge(provider, .documents), options)
    }
}

extension ProvidedForm<StoredDocument> {
    fileprivate static var documents: Self {
        Self(
            repository: nil,
            id: { StoredDocument.ID(repository: $0, entity: $1) },
            entity: { StoredDocument(id: StoredDocument.ID(repository: $0, entity: $1), json: $2) },
            stored: { ($0.id.entity, $0.json) },
            isIn: { $1.id.repository == $0 })
    }
}
