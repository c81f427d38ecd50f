internal import HoldfastEnvironment
internal import HoldfastStorage

/// What works on a store by itself, on a thread of its own, in a layer above: how it hears of what it waits for, and how it
/// ends with the store.
package protocol StoreService: AnyObject, Sendable {
    /// There is a new index. It is stored already.
    func indexCreated(_ definition: IndexDefinition)

    /// Returns at once; `StoreServices.finished` is called when the service is finished.
    func beginClosing()

    /// Whether no thread of it works on the store any longer.
    var isFinished: Bool { get }

    /// Whether the caller is a thread of it.
    var isCurrentThread: Bool { get }
}

/// The services of one store.
package final class StoreServices: Sendable {
    /// For a service that has finished.
    package let finished: @Sendable () -> Void
    private let all = Lock<[any StoreService]>([])

    init(finished: @escaping @Sendable () -> Void) { self.finished = finished }

    /// Before the store is handed to anybody.
    package func add(_ service: any StoreService) { all.withLock { $0.append(service) } }

    func indexCreated(_ definition: IndexDefinition) {
        for service in all.withLock({ $0 }) { service.indexCreated(definition) }
    }

    func beginClosing() {
        for service in all.withLock({ $0 }) { service.beginClosing() }
    }

    var isFinished: Bool { all.withLock { $0 }.allSatisfy(\.isFinished) }

    var isCurrentThread: Bool { all.withLock { $0 }.contains(where: \.isCurrentThread) }
}
