import HistoryChecker

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery
@testable import HoldfastStorage

/// One transaction of a client, from its beginning to its outcome, recorded for the checker.
///
/// What it does follows a kind, each of which would show another fault: lists show every dependency, transfers between
/// accounts show half transactions, groups with a limit show phantoms, and watchers who must not all leave show queries
/// whose matches have ceased to match.
final class Work: CommitObserver, @unchecked Sendable {
    // Confined to the simulation's thread.
    enum Step {
        case readList(Int)
        case appendToList(Int)
        /// Writes to a list and takes it back.
        case rollBackAppend(Int)
        /// Reads a list without a transaction, and sets it, without one too, if it is still the same.
        case readVersion(Int)
        case setVersion(Int)
        case transfer(from: Int, to: Int)
        case audit
        case countGroup(Int)
        case joinGroup(Int)
        /// Leaves somebody else on duty.
        case goOffDuty
        case comeOnDuty(Int)
        case claim(Int)
    }

    unowned let simulation: Simulation
    private unowned let client: Client
    let process: Process
    private let steps: [Step]
    private let options: TransactionOptions
    private let isAlone: Bool
    private let began: Int

    private(set) var transaction: Transaction?
    /// The objects that take part in it, in some.
    private var tree: SimulatedTree?
    private var next = 0
    var operations: [TransactionRecord.Operation] = []
    var writes: [EntityKey: [UInt8]?] = [:]
    /// What `readVersion` found.
    var seen: (key: String, numbers: [Int], version: CommitSequence) = ("", [], 0)
    private(set) var isSubmitted = false
    private(set) var isOver = false

    init(of client: Client, in simulation: Simulation) {
        self.client = client
        self.simulation = simulation
        process = simulation.process
        began = simulation.tick()
        let chance = simulation.chance
        var options = TransactionOptions()
        options.isDurable = chance.happens(600)
        options.timeoutMilliseconds = chance.element(of: [0, 20] + Array(repeating: 1_000_000, count: 12))
        steps = Self.plan(chance)
        // A key of its own for each claim: whoever comes again with it is answered the same.
        if case .claim(let number) = steps[0] { options.idempotencyKey = Array("claim \(number)".utf8) }
        if case .readVersion = steps[0] {
            isAlone = true
            options.isDurable = true
        } else {
            isAlone = steps.count == 1 && Self.isRead(steps[0]) && chance.happens(500)
        }
        self.options = options
    }

    private static func plan(_ chance: SeededChance) -> [Step] {
        let list = { chance.number(in: 0..<4) }
        switch chance.number(in: 0..<100) {
        case 0..<8:
            let list = list()
            return [.readVersion(list), .setVersion(list)]
        case 8..<45:
            return (0..<chance.number(in: 1..<5)).map { _ in
                chance.happens(500)
                    ? .readList(list()) : chance.happens(900) ? .appendToList(list()) : .rollBackAppend(list())
            }
        case 45..<60:
            let from = chance.number(in: 0..<Simulation.accounts)
            return [
                .transfer(from: from, to: (from + chance.number(in: 1..<Simulation.accounts)) % Simulation.accounts)
            ]
        case 60..<70: return [.audit]
        case 70..<88:
            let group = chance.number(in: 0..<2)
            return chance.happens(300) ? [.countGroup(group)] : [.countGroup(group), .joinGroup(group)]
        case 88..<96:
            return [chance.happens(500) ? .goOffDuty : .comeOnDuty(chance.number(in: 0..<Simulation.watchers))]
        default: return [.claim(chance.number(in: 0..<30))]
        }
    }

    private static func isRead(_ step: Step) -> Bool {
        switch step {
        case .readList, .audit, .countGroup: true
        default: false
        }
    }

    // MARK: Steps

    func step() {
        do throws(HoldfastError) {
            if next < steps.count {
                // Only a step that nobody waits for may itself wait for its turn in the queue.
                if case .setVersion = steps[next], simulation.isInterrupting { return }
                if transaction == nil && !isAlone { try begin() }
                try perform(steps[next], in: transaction)
                tree?.change()
                next += 1
                if isAlone && next == steps.count && !isOver { end(.committed) }
            } else {
                try finish()
            }
        } catch {
            fail(error)
        }
    }

    private func begin() throws(HoldfastError) {
        let transaction = try process.store.begin(options)
        self.transaction = transaction
        // Others may take the last place while validators are asked, and waiting for one is for threads.
        guard !process.hasFewPlaces || options.timeoutMilliseconds == 0, simulation.chance.happens(400) else { return }
        let tree = try SimulatedTree(of: self)
        self.tree = tree
        try tree.enlist(in: transaction)
    }

    private func finish() throws(HoldfastError) {
        guard let transaction else { return end(.committed) }
        let chance = simulation.chance
        if chance.happens(50) {
            try transaction.rollback()
            checkTree(isCommitted: false)
            end(.aborted)
        } else if simulation.isInterrupting || chance.happens(600) {
            // Waiting for a slot is for threads, and for those who hear of it.
            if !process.hasPlace && options.timeoutMilliseconds > 0 {
                if chance.happens(500) { try claimSlot() }
                return
            }
            try submit { () throws(HoldfastError) in try transaction.submit(self) }
        } else {
            succeed(try transaction.commit(), isDelivered: false)
        }
    }

    private func submit(_ call: () throws(HoldfastError) -> Void) throws(HoldfastError) {
        // Its own events may come before this call returns.
        isSubmitted = true
        do throws(HoldfastError) {
            try call()
        } catch {
            isSubmitted = false
            throw error
        }
        if simulation.chance.happens(50) { try? transaction?.cancel() }
    }

    /// Waits for a slot as a task does, which may think better of it.
    private func claimSlot() throws(HoldfastError) {
        let queue = process.store.queue
        try submit { () throws(HoldfastError) in
            let deadline = process.store.deadline(inMilliseconds: options.timeoutMilliseconds)
            let claim = try queue.claimSlot(until: deadline) { [self] error in claimEnded(error) }
            if let claim { if simulation.chance.happens(100) { queue.cancelClaim(claim) } } else { claimEnded(nil) }
        }
    }

    private func claimEnded(_ error: HoldfastError?) {
        isSubmitted = false
        // Without a slot it stays open, and tries again.
        if error != nil { return }
        do throws(HoldfastError) {
            guard !isOver, let transaction else { throw HoldfastError(.cancelled, "its process has ended") }
            try submit { () throws(HoldfastError) in try transaction.submitInSlot(self) }
        } catch {
            process.store.queue.delivered(1)
            fail(error)
            client.workEnded(self)
        }
    }

    func committed(_ outcome: CommitOutcome) {
        if !isSubmitted { simulation.report("a completion came twice, or for what was not submitted") }
        isSubmitted = false
        switch outcome {
        case .success(let receipt): succeed(receipt, isDelivered: true)
        case .failure(let error): fail(error)
        }
        client.workEnded(self)
    }

    func succeed(_ receipt: Receipt, isDelivered: Bool) {
        if isOver { return }
        simulation.ledger.noteSuccess(
            receipt, writes: writes, wantsDurability: options.isDurable!, isDelivered: isDelivered)
        if case .claim(let number) = steps[0] { simulation.claims.noteSuccess(of: number, receipt) }
        checkTree(isCommitted: true)
        end(.committed)
    }

    private func fail(_ error: HoldfastError) {
        if isOver { return }
        try? transaction?.rollback()
        simulation.trace("\(error.status)")
        checkTree(isCommitted: false)
        end(error.commitState == .unknown ? .unknown : .aborted)
    }

    private func checkTree(isCommitted: Bool) {
        for fault in tree?.faults(isCommitted: isCommitted) ?? [] { simulation.report(fault) }
    }

    /// The process has ended before this has.
    func abandon() {
        if isOver { return }
        // What was not handed over cannot have happened; while a call of its own is being run, it can.
        let isHandedOver = isSubmitted || next == steps.count || isAlone && !writes.isEmpty
        end(isHandedOver ? .unknown : .aborted)
    }

    private func end(_ outcome: TransactionRecord.Outcome) {
        isOver = true
        transaction = nil
        simulation.trace("\(client.number) \(outcome)")
        let record = TransactionRecord(
            process: client.number, began: began, ended: simulation.tick(), operations: operations, outcome: outcome)
        simulation.ledger.note(record)
    }
}
