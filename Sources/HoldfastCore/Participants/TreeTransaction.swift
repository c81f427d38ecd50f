public import HoldfastEnvironment

/// One transaction over object trees: over one alone, or over those that are enlisted in a store's transaction.
/// `TransactionState` says what each call makes of it.
///
/// Where members may be called on their own side only, the end is held: it seals the trees, and `release` carries it
/// out there.
///
/// Who is called in a phase is settled when it begins; who has left meanwhile is skipped. All state is guarded by the
/// trees' lock, and no lock is held while the host's code runs.
public final class TreeTransaction: @unchecked Sendable {
    // Sendable: what changes, and what guards it:
    //  - All but the next: the trees' lock, with the links between participants and what they have joined.
    //  - `storeTransaction`: set by `init` alone; the runtime lets go of it.

    public let descriptor = TransactionDescriptor.fresh()
    /// Whether a store's transaction ends it.
    let isEnlisted: Bool
    private(set) weak var storeTransaction: Transaction?
    private let epoch = processEpoch()
    /// Whether the end waits for `release`.
    private(set) var isHeld = false

    /// A member as it joined.
    struct Joining {
        let member: Participant
        let number: Int

        init(_ member: Participant) {
            self.member = member
            number = member.joinings
        }
    }

    private(set) var stage = TransactionState.open
    /// In the order in which they joined, once each. One that was attached to another tree meanwhile is walked there.
    private(set) var roots: [Participant] = []
    private(set) var knownRoots: Set<ObjectIdentifier> = []
    /// How many there are that were not freed.
    private(set) var members = 0
    /// Joined and not begun yet, and whether somebody is at it.
    private var newcomers: [Joining] = []
    private var isBeginning = false
    /// While validating: joined and not validated yet.
    private(set) var unvalidated: [Joining] = []
    /// How many walks are calling the host now.
    private(set) var callers = 0
    /// Freed by their owners, and still links between others.
    private(set) var freed: [Participant] = []
    /// Of a tree alone; those of a store's transaction are the store's.
    private(set) var savepoints: [UInt64] = []
    private(set) var savepointsMade: UInt64 = 0

    /// The scopes inside it that are under way, and whether their members have made a savepoint for them. Of a tree alone.
    private(set) var scopes: [(number: UInt64, isNotified: Bool)] = []
    /// Why it can only be rolled back.
    private var doom: HoldfastError?

    /// Over a tree alone.
    init() { isEnlisted = false }

    /// Over the trees that are enlisted in a store's.
    init(of storeTransaction: Transaction) {
        isEnlisted = true
        self.storeTransaction = storeTransaction
    }

    var hasEnded: Bool { stage.hasEnded }

    // MARK: Joining

    /// Takes the participant's tree in, and begins its members.
    public func enlist(_ participant: Participant) throws(HoldfastError) {
        let begins = try TreeLock.withLock { () throws(HoldfastError) -> Bool in
            try check(.enlistTree)
            guard participant.host != nil else { throw Participant.freed }
            let root = participant.root
            if let other = root.transaction {
                if other === self { return false }
                try other.check(.beginAnother)
            }
            if knownRoots.insert(ObjectIdentifier(root)).inserted { roots.append(root) }
            return join(root)
        }
        if begins { try beginNewcomers() }
    }

    /// Under the lock: makes members of these. Answers whether the caller has to begin them.
    func join(_ top: Participant) -> Bool {
        guard case .stay = current.answer(to: .enlistTree) else { return false }
        top.forEachInOrder { member in
            member.joined = self
            member.joinings += 1
            members += 1
            newcomers.append(Joining(member))
            if stage == .validating { unvalidated.append(Joining(member)) }
        }
        return !isBeginning
    }

    /// Begins who has joined, parents first.
    func beginNewcomers() throws(HoldfastError) {
        let isMine = TreeLock.withLock {
            if isBeginning { return false }
            isBeginning = true
            callers += 1
            return true
        }
        guard isMine else { return }
        while true {
            let batch = TreeLock.withLock {
                if newcomers.isEmpty {
                    isBeginning = false
                    endCalling()
                }
                defer { newcomers = [] }
                return newcomers
            }
            if batch.isEmpty { return }
            for joining in batch { try call(joining) { $0.began(descriptor) } }
        }
    }

    // MARK: Ending

    /// Validates every member, also those that join meanwhile, and seals the trees; when one refuses, they stay open.
    /// `others` asks who else is to be asked, again and again, and answers whether there was anybody.
    func validate(
        in transaction: Transaction?, others: () throws(HoldfastError) -> Bool = { () throws(HoldfastError) in false }
    ) throws(HoldfastError) {
        try beginValidation()
        do throws(HoldfastError) {
            var rounds = 0
            while true {
                let hadMembers = try validateNewcomers(in: transaction)
                let hadOthers = try others()
                if !hadMembers && !hadOthers { break }
                rounds += 1
                if rounds > Limits.inForce.validationRounds { throw Self.unsettled }
            }
        } catch {
            endValidation(.refused)
            throw error
        }
        endValidation(.accepted)
    }

    private func beginValidation() throws(HoldfastError) {
        try TreeLock.withLock { () throws(HoldfastError) in
            try requireQuiet()
            if let doom { throw doom }
            note(.validateTrees)
            callers += 1
            forEachTree { $0.forEachInOrder { unvalidated.append(Joining($0)) } }
        }
    }

    private func endValidation(_ outcome: TransactionCall) {
        TreeLock.withLock {
            note(outcome)
            unvalidated = []
            endCalling()
        }
    }

    /// Validates who was not. Answers whether there was anybody.
    private func validateNewcomers(in transaction: Transaction?) throws(HoldfastError) -> Bool {
        let batch = TreeLock.withLock {
            defer { unvalidated = [] }
            return unvalidated
        }
        var refusal: HoldfastError?
        for joining in batch {
            try call(joining) { host in
                do throws(HoldfastError) {
                    try host.validate(in: transaction)
                } catch {
                    refusal = error
                }
            }
            if var refusal {
                refusal.origin = joining.member
                throw refusal
            }
        }
        return !batch.isEmpty
    }

    /// The store was not ready for what was validated.
    func unseal() {
        TreeLock.withLock { note(.reopen) }
    }

    /// Whether no tree was ever enlisted.
    var isEmpty: Bool { TreeLock.withLock { knownRoots.isEmpty } }

    /// Tells all members that what was validated is committed.
    func commit() throws(HoldfastError) { try end(.commitTrees, later: .commitTreesLater) }

    /// Tells all members to go back to how they began.
    public func rollback() throws(HoldfastError) { try end(.rollBackTrees, later: .rollBackTreesLater) }

    /// Ends as the store's commit has ended. What has an unknown outcome goes back: the host asks the store.
    func end(with outcome: CommitOutcome) {
        let isCommitted =
            switch outcome {
            case .success: true
            case .failure(let error): error.commitState == .done
            }
        // Fails only in a forked child, which has nothing more to do here.
        try? isCommitted ? commit() : rollback()
    }

    /// Has the end wait for `release`.
    func holdEnd() { TreeLock.withLock { isHeld = isHeld || !hasEnded } }

    /// Whether the end waits for `release`.
    var isEndHeld: Bool { TreeLock.withLock { isHeld } }

    /// Tells all members of the end that was held. Answers false where it has not come.
    public func release() throws(HoldfastError) -> Bool {
        try end(.release, later: .release)
        return TreeLock.withLock { isHeld && !stage.isOpen }
    }

    /// Children first, the trees in reverse.
    private func end(_ now: TransactionCall, later: TransactionCall) throws(HoldfastError) {
        try requireSameProcess()
        let notified: (members: [Participant], isCommitted: Bool)? = TreeLock.withLock {
            guard follow(isHeld ? later : now), stage.isNotifying else { return nil }
            callers += 1
            var members: [Participant] = []
            forEachTree(reversed: true) { $0.forEachChildrenFirst { members.append($0) } }
            return (members, stage == .notifyingCommit)
        }
        guard let (members, isCommitted) = notified else { return }
        try call(members) { isCommitted ? $0.committed(descriptor) : $0.rolledBack(descriptor) }
        TreeLock.withLock {
            note(.notified)
            callers -= 1
            letGo()
        }
    }

    /// Under the lock: unlinks whom their owners have freed.
    private func letGo() {
        roots = []
        knownRoots = []
        for member in freed { member.dissolve() }
        freed = []
    }

    /// Under the lock: these leave with the one that is detached.
    func leave(_ top: Participant) {
        top.forEachInOrder { member in
            guard member.joined === self else { return }
            if member.host != nil { members -= 1 }
            member.joined = nil
        }
        endIfDeserted()
    }

    /// Under the lock: a member was freed.
    func noteFreed(_ member: Participant) {
        freed.append(member)
        members -= 1
        endIfDeserted()
    }

    /// Under the lock: a walk that called members is over. They may have gone meanwhile.
    private func endCalling() {
        callers -= 1
        endIfDeserted()
    }

    /// With its last member goes the last who could end a tree's own transaction.
    private func endIfDeserted() {
        guard members == 0, !isEnlisted, follow(.desert) else { return }
        letGo()
    }

    // MARK: Savepoints

    /// For a tree alone.
    func savepoint() throws(HoldfastError) -> UInt64 {
        if let doom = TreeLock.withLock({ doom }) { throw doom }
        try requireSavepoints()
        let number = TreeLock.withLock {
            savepointsMade += 1
            savepoints.append(savepointsMade)
            return savepointsMade
        }
        do throws(HoldfastError) { try savepoint(number) } catch {
            TreeLock.withLock { savepoints.removeAll { $0 == number } }
            throw error
        }
        return number
    }

    func rollBackOwn(to number: UInt64) throws(HoldfastError) {
        let known = TreeLock.withLock { savepoints.lastIndex(of: number) }
        guard let index = known else {
            throw HoldfastError(
                .invalidArgument,
                "the transaction has no savepoint \(number): it was never made, or rolled back over")
        }
        try rollBack(to: number)
        TreeLock.withLock { savepoints.removeSubrange(min(index + 1, savepoints.count)...) }
    }

    /// Refuses, before anybody is called, when a member takes no part in savepoints.
    func requireSavepoints() throws(HoldfastError) {
        try TreeLock.withLock { () throws(HoldfastError) in
            try requireQuiet()
            var isSupported = true
            forEachTree { tree in
                tree.forEachInOrder { member in
                    if let host = member.host, !host.hasSavepoints { isSupported = false }
                }
            }
            if !isSupported {
                throw HoldfastError(
                    .unsupported,
                    "a member of the transaction's object trees takes no part in savepoints: give each the functions for "
                        + "it")
            }
        }
    }

    /// Whether all members take part in savepoints, and can be called now.
    var hasSavepoints: Bool {
        do throws(HoldfastError) {
            try requireSavepoints()
            return true
        } catch {
            return false
        }
    }

    /// For those of a store's transaction, whose number this is.
    public func savepoint(_ number: UInt64) throws(HoldfastError) {
        try requireSavepoints()
        try callAll(childrenFirst: false) { $0.savepoint(number) }
    }

    public func rollBack(to number: UInt64) throws(HoldfastError) {
        try callAll(childrenFirst: true) { $0.rollBack(to: number) }
    }

    // MARK: Scopes

    /// Begins a part that goes back by itself when it fails, for a tree alone. Answers its number.
    func beginScope() throws(HoldfastError) -> UInt64 {
        let isNotified = hasSavepoints
        let number = TreeLock.withLock {
            savepointsMade += 1
            scopes.append((savepointsMade, isNotified))
            return savepointsMade
        }
        do throws(HoldfastError) {
            if isNotified { try callAll(childrenFirst: false) { $0.savepoint(number) } }
        } catch {
            TreeLock.withLock { scopes.removeAll { $0.number == number } }
            throw error
        }
        return number
    }

    /// A commit would keep half of what is under way.
    func requireNoScope() throws(HoldfastError) {
        if TreeLock.withLock({ !scopes.isEmpty && doom == nil }) { throw TransactionRefusal.scopeUnderWay.error }
    }

    /// Ends it. Where a member cannot go back, the transaction can only be rolled back.
    func endScope(_ number: UInt64, succeeded: Bool) throws(HoldfastError) {
        let isNotified: Bool? = TreeLock.withLock {
            guard let index = scopes.lastIndex(where: { $0.number == number }) else { return nil }
            defer { scopes.removeSubrange(index...) }
            return hasEnded || succeeded ? nil : scopes[index].isNotified
        }
        guard let isNotified else { return }
        if isNotified && hasSavepoints {
            try rollBack(to: number)
            TreeLock.withLock { savepoints.removeSubrange(savepoints.partitioningIndex { $0 > number }...) }
        } else {
            TreeLock.withLock { doom = doom ?? Self.halfChanged }
        }
    }

    // MARK: Calling

    private func callAll(
        childrenFirst: Bool, _ body: (any ParticipantHost) -> Void
    ) throws(HoldfastError) {
        let members = try TreeLock.withLock { () throws(HoldfastError) in
            try requireQuiet()
            callers += 1
            var members: [Participant] = []
            forEachTree(reversed: childrenFirst) { tree in
                if childrenFirst {
                    tree.forEachChildrenFirst { members.append($0) }
                } else {
                    tree.forEachInOrder { members.append($0) }
                }
            }
            return members
        }
        try call(members, body)
        TreeLock.withLock { endCalling() }
    }

    private func call(_ members: [Participant], _ body: (any ParticipantHost) -> Void) throws(HoldfastError) {
        for member in members { try call(member, body) }
    }

    /// Calls one that is still a member. Throws in a forked child of the host's code.
    private func call(_ member: Participant, _ body: (any ParticipantHost) -> Void) throws(HoldfastError) {
        guard let host = TreeLock.withLock({ member.transaction === self ? member.host : nil }) else { return }
        guard isSameProcess(after: { body(host) }) else { throw Self.forked }
    }

    /// The same for one that has not left since.
    private func call(_ joining: Joining, _ body: (any ParticipantHost) -> Void) throws(HoldfastError) {
        guard TreeLock.withLock({ joining.member.joinings == joining.number }) else { return }
        try call(joining.member, body)
    }

    func forEachTree(reversed: Bool = false, _ body: (Participant) -> Void) {
        func visit(_ root: Participant) {
            if root.joined === self && root.parent == nil { body(root) }
        }
        if reversed { roots.reversed().forEach(visit) } else { roots.forEach(visit) }
    }

    // MARK: Refusals

    /// Under the lock: nobody is being called, and it can be changed and ended.
    func requireQuiet() throws(HoldfastError) {
        try requireSameProcess()
        try check(.callMembers)
    }

    /// Under the lock: where it stands.
    private var current: TransactionState { stage == .open && callers > 0 ? .calling : stage }

    /// Under the lock: refuses the call where the table does.
    func check(_ call: TransactionCall) throws(HoldfastError) {
        _ = try current.next(on: call)
    }

    /// Under the lock: what came of a call that was let in.
    private func note(_ outcome: TransactionCall) { _ = follow(outcome) }

    /// Under the lock: goes on as the table says. Answers whether that leads anywhere.
    private func follow(_ call: TransactionCall) -> Bool {
        var next = current
        guard next.follow(call) else { return false }
        stage = next
        return true
    }

    private func requireSameProcess() throws(HoldfastError) {
        if processEpoch() != epoch { throw Self.forked }
    }

    private static let forked = HoldfastError(
        .forked, "the object tree belongs to the process that forked this one: make one of its own here")

    private static let halfChanged = HoldfastError(
        .unsupported,
        "a part of the object tree's transaction has failed, and a member could not go back, because it takes no part in "
            + "savepoints: roll all back, or give each member the functions for savepoints")

    private static let unsettled = HoldfastError(
        .invalidState,
        "validators went on writing, or adding members to an object tree, in each of \(Limits.inForce.validationRounds) "
            + "rounds: let them come to an end")
}
