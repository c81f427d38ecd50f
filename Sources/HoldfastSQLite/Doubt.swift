import Synchronization

/// Whether something that is visible may not be durable, because a sync or a COMMIT failed. While it lasts nothing
/// more is committed, and nothing copied out of the log; `SQLiteStorage.recover` ends it.
final class Doubt: Sendable {
    private let flag = Atomic(false)

    var lasts: Bool { flag.load(ordering: .acquiring) }
    func arise() { flag.store(true, ordering: .releasing) }
    func settle() { flag.store(false, ordering: .releasing) }
}
