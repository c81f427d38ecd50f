internal import HoldfastEnvironment

/// The handles of those objects that the core hands back to the host's code: transactions, to validators, and participants,
/// with errors. The core itself knows no handles.
enum HandleMap {
    private final class Handles: ProcessOwned {
        let epoch: UInt32
        let all = Lock<[ObjectIdentifier: OpaquePointer]>([:])

        init(epoch: UInt32) { self.epoch = epoch }
    }

    private static let current = PerProcess<Handles>()

    static func note(_ handle: OpaquePointer, of object: AnyObject) {
        current.value.all.withLock { $0[ObjectIdentifier(object)] = handle }
    }

    /// Before the object may go: another could be where it was.
    static func forget(_ object: AnyObject) {
        current.value.all.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(object)) }
    }

    static func handle(of object: AnyObject) -> OpaquePointer? {
        current.value.all.withLock { $0[ObjectIdentifier(object)] }
    }
}
