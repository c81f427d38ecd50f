public import HoldfastCore
public import HoldfastEnvironment

extension Store {
    /// Opens a store whose entities live with the host's provider. The provider is let go of when the store is closed, or
    /// before this throws.
    public static func open(
        provider: any HostProvider, options: StoreOptions = .init(), environment: Environment = .system
    ) throws(HoldfastError) -> Store {
        let storage = try ProviderStorage(
            provider, isReadOnly: options.readOnly, isConcurrent: options.concurrentCalls, environment: environment)
        return try open(url: storage.location, storage: storage, options: options, environment: environment)
    }
}
