package import HoldfastCore
package import HoldfastEnvironment
package import HoldfastStorage

extension Store {
    /// Opens a store over an opened storage, with what works on it by itself. When this throws, the storage is closed.
    package static func open(
        url: String, storage: any Storage, options: StoreOptions, environment: Environment = .system
    ) throws(HoldfastError) -> Store {
        let store = try Store(url: url, storage: storage, options: options, environment: environment)
        do throws(HoldfastError) {
            try Expiry(for: store).begin(for: store)
        } catch {
            _ = try? Interrupt.silently { () throws(HoldfastError) in try store.close(timeoutMilliseconds: nil) }
            throw error
        }
        return store
    }
}
