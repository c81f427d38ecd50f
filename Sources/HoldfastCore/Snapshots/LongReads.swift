internal import HoldfastEnvironment
package import HoldfastStorage
internal import Synchronization

/// The snapshot of long work that can be begun anew.
package final class LongRead: Sendable {
    package let snapshot: any StorageSnapshot
    private let taken = Atomic(false)

    package init(_ snapshot: any StorageSnapshot) { self.snapshot = snapshot }

    /// Whether the snapshot was taken back: what is read from it then fails.
    package var isTaken: Bool { taken.load(ordering: .acquiring) }

    /// Any thread; waits for nobody.
    package func takeBack() {
        taken.store(true, ordering: .releasing)
        snapshot.close()
    }
}

/// Those that are taken back when the engine wants every snapshot back, because they keep a write-ahead log from being
/// begun anew that has grown too long.
package final class LongReads: Sendable {
    private let reads = Lock<[ObjectIdentifier: LongRead]>([:])

    package func add(_ read: LongRead) { reads.withLock { $0[ObjectIdentifier(read)] = read } }
    package func remove(_ read: LongRead) { _ = reads.withLock { $0.removeValue(forKey: ObjectIdentifier(read)) } }
    func takeBack() { for read in reads.withLock({ Array($0.values) }) { read.takeBack() } }
}
