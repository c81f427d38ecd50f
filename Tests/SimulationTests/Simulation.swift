import HistoryChecker
import HoldfastStorage

@testable import HoldfastCore
@testable import HoldfastEnvironment

/// What is taken away from the core or its storage, to see that the simulation notices.
enum Weakness: String, CaseIterable, Sendable {
    case none
    case noKeyChecks
    case noPredicateChecks
    /// The storage answers a durable commit before it has synced.
    case earlyAcknowledgement
    /// The storage forgets that sequences were reserved.
    case reusedSequences
    /// The objects do not go back when they are told to.
    case forgottenObjects

    var checks: ConflictChecks {
        switch self {
        case .noKeyChecks: .predicates
        case .noPredicateChecks: .keys
        default: .all
        }
    }
}

/// Many clients on one store, on one thread, with all chance from a seed: a failing seed fails again in the same way.
///
/// Between two steps, and in the middle of every call on the storage, others may run, calls may fail, the process may
/// be killed and the power be cut. (The method is FoundationDB's: Zhou and others, SIGMOD 2021.)
final class Simulation: @unchecked Sendable {
    // Confined to the thread that runs it.
    static let accounts = 4
    static let groupLimit = 5
    static let watchers = 3
    private static let clientCount = 6
    private static let interruptionDepth = 3

    let weakness: Weakness
    let chance: SeededChance
    let time = VirtualTime()
    var ledger = Ledger()
    var claims = Claims()
    private(set) var process: Process!
    /// Those of each process that there was.
    private(set) var limits: [String] = []
    private var followers: Followers?
    private(set) var digest = Fingerprint()
    private(set) var crashes = 0

    let disk = Disk()
    private var clients: [Client] = []
    private var clock = 0
    private var depth = 0
    private var hasFaults = false
    private var isClosing = false
    /// The power was cut so many times; what is written since has names of its own.
    private var era = 0

    init(seed: UInt64, weakness: Weakness = .none) {
        self.weakness = weakness
        chance = SeededChance(seed: seed)
        clients = (0..<Self.clientCount).map { Client(number: $0, simulation: self) }
    }

    // MARK: For clients and storage

    /// Rises with every call: the clock of the history.
    func tick() -> Int {
        clock += 1
        return clock
    }

    func listName(_ number: Int) -> String { "list\(era)-\(clock / 400)-\(number)" }
    func groupName(_ number: Int) -> String { "group\(era)-\(clock / 200)-\(number)" }

    /// Whether this step runs in the middle of another: then nothing must wait.
    var isInterrupting: Bool { depth > 0 }

    func fails(_ permille: Int) -> Bool { hasFaults && chance.happens(permille) }

    func report(_ fault: String) {
        ledger.report(fault)
        trace("FAULT \(fault)")
    }

    func trace(_ event: String) {
        digest.add(Array(event.utf8))
        if Self.isTracing { print("\(clock) \(String(repeating: "  ", count: depth))\(event)") }
    }

    /// A point in the middle of a call at which others may run.
    func interrupt(_ place: String) {
        trace(place)
        guard hasFaults, !process.storage.isDead else { return }
        time.pass(UInt64(chance.happens(10) ? 25_000_000 : chance.number(in: 1_000..<1_000_000)))
        guard depth < Self.interruptionDepth, chance.happens(150) else { return }
        depth += 1
        for _ in 0..<chance.number(in: 1..<4) where !process.storage.isDead {
            if chance.happens(5) { crash() } else { step() }
            checkInvariants()
        }
        depth -= 1
    }

    // MARK: Running

    func run(steps: Int) throws {
        try open()
        try fill()
        hasFaults = true
        for _ in 0..<steps {
            if process.storage.isDead {
                reopen()
            } else if isClosing {
                closeFurther()
            } else if chance.happens(3) {
                crash()
            } else if chance.happens(2) {
                isClosing = true
            } else if chance.happens(4) {
                settle()
            } else {
                step()
            }
            checkInvariants()
        }
        try end()
    }

    private func step() {
        switch chance.number(in: 0..<100) {
        case 0..<55:
            let able = clients.filter(\.canStep)
            if !able.isEmpty { chance.element(of: able).step() }
        case 55..<90:
            if process.store.options.delivery == .queue && chance.happens(500) {
                process.takeEvents(limit: chance.number(in: 1..<4))
            } else {
                let ready = process.workers.ready
                if !ready.isEmpty { chance.element(of: ready).step() }
            }
        case 90..<95: process.storage.host?.releaseSnapshots(olderThanMilliseconds: chance.happens(500) ? nil : 10)
        case 95..<97: if !isInterrupting { sync() }
        case 97: if chance.happens(50) { jump() }
        default: time.pass(UInt64(chance.number(in: 0..<30_000_000)))
        }
    }

    private func sync() {
        do throws(HoldfastError) {
            try process.store.sync()
            ledger.noteSynced()
        } catch {
            trace("sync failed: \(error.status)")
        }
    }

    /// Somebody sets the calendar, back before 1970 or forward by up to 60 years.
    private func jump() {
        let years = chance.number(in: -60..<61)
        trace("the calendar jumps by \(years) years")
        time.jump(Int64(years) * 31_556_952_000)
    }

    /// The calendar is right when a process begins: how old idempotency keys of earlier ones are, only it can tell.
    private func open() throws(HoldfastError) {
        time.setRight()
        followers = nil
        process = try Process(on: disk, in: self)
        limits.append(process.limits.description)
        if chance.happens(700) { followers = Followers(process, in: self) }
    }

    /// Without further faults everything that was begun comes to its end, but for what clients have still to ask for. Then
    /// those who follow must have followed.
    private func settle() {
        let hadFaults = hasFaults
        hasFaults = false
        // One by one, where limits are small.
        for _ in 0..<1_000 {
            process.takeEvents(limit: .max)
            for worker in process.workers.ready { worker.step() }
            // Long enough for the next look at what others have committed.
            time.pass(1_000_000)
        }
        followers?.check()
        if process.store.queue.inFlight != 0 { report("\(process.store.queue.inFlight) slots are taken by nobody") }
        if chance.happens(200) { followers?.cancelOne(chance) }
        hasFaults = hadFaults
    }

    /// What the store's parts state of themselves holds after every step, also of one in the middle of another.
    private func checkInvariants() {
        let (store, storage) = (process.store, process.storage)
        if storage.isDead { return }
        var fault = store.violatedInvariant(isQuiet: !isInterrupting)
        for client in clients { fault = fault ?? client.work?.transaction?.violatedInvariant() }
        if store.queue.awaitsCommitter && !process.workers.isAwake("hf-committer") {
            fault = fault ?? "queue 2: commits wait, and nobody was woken to lead"
        }
        if store.queue.awaitsAdmission && !process.workers.isAwake("hf-deadlines") {
            fault = fault ?? "queue 5: slots are free, and nobody was woken to let those in who wait for them"
        }
        let entities = disk.visible.entities
        fault =
            fault
            ?? store.cache.violatedAgreement(storage.changeToken) { key in
                entities[key].map { ($0.version, $0.body) }
            }
        if let fault, !ledger.faults.contains(fault) { report(fault) }
    }

    private func fill() throws {
        for number in 0..<Self.accounts {
            try save("{\"id\":\"account\(number)\",\"balance\":[100]}", in: process.accounts)
        }
        try save("{\"id\":\"watcher0\",\"on_duty\":true}", in: process.watchers)
    }

    private func save(_ text: String, in repository: Repository) throws(HoldfastError) {
        _ = try Array(text.utf8).withBytes { bytes throws(HoldfastError) in
            try repository.perform(WriteCall(.save, nil, bytes))
        }
    }

    /// Ends the process, and perhaps the power.
    private func crash() {
        crashes += 1
        let cutsPower = chance.happens(600)
        trace(cutsPower ? "POWER CUT" : "KILL")
        for client in clients { client.abandon() }
        try! process.storage.kill()
        isClosing = false
        if cutsPower { disk.cutPower(chance) }
        compare(afterPowerCut: cutsPower)
        if cutsPower {
            ledger.checkHistory()
            claims.forget(behind: disk.visible.newestSequence)
            era += 1
        }
    }

    private func compare(afterPowerCut: Bool) { ledger.compare(with: disk.visible, afterPowerCut: afterPowerCut) }

    private func reopen() {
        do throws(HoldfastError) {
            try open()
        } catch {
            trace("open failed: \(error.status)")
        }
    }

    /// Goes on with a close that was asked for, while clients still come.
    private func closeFurther() {
        var isClosed = false
        do throws(HoldfastError) {
            isClosed = try process.store.close(timeoutMilliseconds: 0)
        } catch {
            isClosed = true
        }
        guard isClosed else { return step() }
        process.takeEvents(limit: .max)
        for client in clients {
            if client.work?.isSubmitted ?? false { report("client \(client.number) never heard of its commit") }
            client.abandon()
        }
        isClosing = false
        try! process.storage.kill()
        compare(afterPowerCut: false)
        trace("CLOSED")
    }

    /// Without further faults everybody comes to an end, and what is found then is what was told.
    private func end() throws {
        hasFaults = false
        if process.storage.isDead { try open() }
        for _ in 0..<10_000 where clients.contains(where: { $0.work != nil }) {
            process.takeEvents(limit: .max)
            for worker in process.workers.ready { worker.step() }
            for client in clients where client.work != nil && client.canStep { client.step() }
        }
        for client in clients where client.work != nil { report("client \(client.number) never came to an end") }
        settle()
        isClosing = true
        for _ in 0..<1_000 where isClosing { closeFurther() }
        if isClosing { report("the store never closed") }
        try open()
        ledger.checkHistory()
    }
}
