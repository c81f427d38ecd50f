public import HoldfastEnvironment
package import HoldfastQuery
package import HoldfastStorage
internal import Synchronization

/// How a commit ended.
public typealias CommitOutcome = Result<Receipt, HoldfastError>

/// Hears of an asynchronous commit's outcome. Called exactly once for each accepted commit, on the thread that
/// delivers, or released without a call when a store is freed with events that nobody took.
public protocol CommitObserver: CommitOwner, EventObserver {
    func committed(_ outcome: CommitOutcome)
}

extension CommitObserver {
    public func ended(_ commit: Commit, _ events: inout [Event]) { events.append(.commit(commit, self)) }
}

/// Learns of a commit's end at once, before anybody else hears of it, and says what is to be delivered.
public protocol CommitOwner: AnyObject, Sendable {
    /// On the thread that ends the commit, and leads the queue where it was stored: to be short, and without the host's code.
    func ended(_ commit: Commit, _ events: inout [Event])
}

/// A write set on its way through the queue: what it wants, what it relies on, and what became of it.
public final class Commit: @unchecked Sendable {
    // Sendable: the request is immutable, and so are `onSettled` and `canBeGivenUp` from when it is queued. `stage`,
    // `batchBit` and `ownerLeads` are guarded by the queue's lock. What the leader finds (`commitIdentifier`, `outcome`,
    // `bodies`, `indexProgress`, `headBefore`) is written before `isDone` is released, and read by others after it was acquired.

    // The request.
    let writes: [Write]
    let reads: ReadSet?
    let isDurable: Bool
    /// Monotonic; past it the commit is withdrawn while it is queued.
    package let deadline: UInt64?
    let idempotencyKey: [UInt8]?
    /// Of what was asked for under the key, where the writes are only a part of it.
    private let asked: UInt64?
    let attempts: Int
    /// Nil for a commit whose owner waits.
    let owner: (any CommitOwner)?
    /// The object trees that end with it.
    let trees: TreeTransaction?
    /// Instead of writes.
    let catalogueChange: CatalogueChange?
    /// The versions that its entities are to have, smaller than its sequence; nil for that sequence itself.
    let keptVersions: [EntityKey: CommitSequence]?
    /// Whether the owner wants to see patched entities.
    let wantsResults: Bool
    let size: Int

    // Its way.
    enum Stage { case new, queued, taken, ended }
    var stage = Stage.new
    /// What its owner waits for at the queue's gate: the end of the batch that is the next to be taken.
    var batchBit: UInt32 = 0
    /// Whether its owner waits, and leads where nobody does.
    var ownerLeads: Bool
    /// Whether storing it takes long, and its owner, who waits, may give it up meanwhile.
    var canBeGivenUp = false
    var commitIdentifier: UInt64 = 0

    /// Called when it is stored and visible, or has failed by anything but a conflict: then it does not run again.
    var onSettled: (@Sendable () -> Void)?

    // Its end.
    public private(set) var outcome: CommitOutcome?
    /// The final text of each written entity, in the order of `writes`, where wanted. For the leader.
    var bodies: [[UInt8]] = []
    /// What became of an index. For the leader.
    var indexProgress: IndexProgress?
    /// The newest sequence that was given out before the commit advanced it. For the leader.
    package var headBefore: CommitSequence?
    private let done = Atomic<Bool>(false)
    private let wish = Atomic(Wish.none)

    private enum Wish {
        static let none: UInt8 = 0
        static let unwanted: UInt8 = 1
        static let storing: UInt8 = 2
    }

    /// A change of the catalogue.
    package init(_ change: CatalogueChange, isDurable: Bool) {
        writes = []
        reads = nil
        self.isDurable = isDurable
        deadline = nil
        idempotencyKey = nil
        asked = nil
        attempts = 1
        owner = nil
        ownerLeads = true
        trees = nil
        catalogueChange = change
        keptVersions = nil
        wantsResults = false
        size = change.size
    }

    package init(
        writes: [Write], reads: ReadSet? = nil, isDurable: Bool, deadline: UInt64?, idempotencyKey: [UInt8]? = nil,
        asked: UInt64? = nil, attempts: Int = 1, owner: (any CommitOwner)? = nil, trees: TreeTransaction? = nil,
        wantsResults: Bool = false, keptVersions: [EntityKey: CommitSequence]? = nil
    ) {
        self.writes = writes
        self.reads = reads
        self.isDurable = isDurable
        self.deadline = deadline
        self.idempotencyKey = idempotencyKey
        self.asked = asked
        self.attempts = attempts
        self.owner = owner
        ownerLeads = owner == nil
        self.trees = trees
        catalogueChange = nil
        self.keptVersions = keptVersions
        self.wantsResults = wantsResults
        size = writes.reduce(256) { $0 + $1.size }
    }

    /// What its idempotency key stands for.
    var fingerprint: UInt64 { asked ?? Fingerprint.of(writes) }

    var advances: Bool { if case .advance = catalogueChange { true } else { false } }

    func isLate(_ now: UInt64) -> Bool { deadline.map { $0 <= now } ?? false }

    /// Its owner, who waits, would rather have it not stored. It is not, where that is found before its COMMIT. Answers false
    /// where a server may have got that.
    @discardableResult func giveUp() -> Bool { change(Wish.none, to: Wish.unwanted) != Wish.storing }
    var isUnwanted: Bool { wish.load(ordering: .acquiring) == Wish.unwanted }
    /// Before a server gets its COMMIT. Answers false where it is not wanted any more.
    func beginStoring() -> Bool { change(Wish.none, to: Wish.storing) != Wish.unwanted }
    /// The server has not stored it.
    func endStoring() { _ = change(Wish.storing, to: Wish.none) }

    private func change(_ known: UInt8, to wanted: UInt8) -> UInt8 {
        wish.compareExchange(expected: known, desired: wanted, ordering: .acquiringAndReleasing).original
    }

    var isDone: Bool { done.load(ordering: .acquiring) }

    /// The same for the owner, once the commit has ended.
    package var results: [[UInt8]] { isDone ? bodies : [] }

    /// Once it has ended: notifies its owner, or, where object trees end with it, has them notified before. Who waits
    /// for it tells them by itself.
    func notifyOwner(_ events: inout [Event]) {
        guard let owner else { return }
        if trees?.isEmpty ?? true { owner.ended(self, &events) } else { events.append(.members(self)) }
    }

    /// Where events are delivered: tells the members of its object trees, then its owner.
    func notifyMembers(_ events: inout [Event]) {
        trees?.end(with: outcome!)
        owner?.ended(self, &events)
    }

    func end(_ outcome: CommitOutcome) {
        self.outcome = outcome
        done.store(true, ordering: .releasing)
        if case .failure(let error) = outcome, error.status == .conflict { return }
        onSettled?()
    }
}
