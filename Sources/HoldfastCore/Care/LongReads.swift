internal import HoldfastEnvironment
internal import HoldfastStorage
internal import Synchronization

/// The snapshot of long work that can be begun anew.
final class LongRead: Sendable {
    let snapshot: any StorageSnapshot
    private let taken = Atomic(false)

    init(_ snapshot: any StorageSnapshot) { self.snapshot = snapshot }

    /// Whether the snapshot was taken back: what is read from it then fails.
    var isTaken: Bool { taken.load(ordering: .acquiring) }

    /// Any thread; waits for nobody.
    func takeBack() {
        taken.store(true, ordering: .releasing)
        snapshot.close()
    }
}

/// Those that are taken back when the engine wants every snapshot back, because they keep a write-ahead log from being
/// begun anew that has grown too long.
final class LongReads: Sendable {
    private let reads = Lock<[ObjectIdentifier: LongRead]>([:])

    func add(_ read: LongRead) { reads.withLock { $0[ObjectIdentifier(read)] = read } }
    func remove(_ read: LongRead) { _ = reads.withLock { $0.removeValue(forKey: ObjectIdentifier(read)) } }
    func takeBack() { for read in reads.withLock({ Array($0.values) }) { read.takeBack() } }
}
