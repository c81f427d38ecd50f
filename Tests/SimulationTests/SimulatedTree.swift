@testable import HoldfastCore
@testable import HoldfastEnvironment

/// Two objects, one below the other, that take part in a transaction, and hold the library to what it owes them: they are
/// begun before all, told of the end once, and what they are then agrees with what became of the transaction.
final class SimulatedTree: @unchecked Sendable {
    // Confined to the simulation's thread.
    private let root: Participant
    private let leaf: Participant
    private let objects: [SimulatedObject]
    private let chance: SeededChance

    init(of work: Work) throws(HoldfastError) {
        let objects = [SimulatedObject(of: work), SimulatedObject(of: work)]
        root = Participant(objects[0])
        leaf = Participant(objects[1])
        self.objects = objects
        chance = work.simulation.chance
        try leaf.attach(to: root)
    }

    func enlist(in transaction: Transaction) throws(HoldfastError) { try transaction.enlist(leaf) }

    func change() {
        for object in objects { object.value += 1 }
        if chance.happens(200) { comeAndGo() }
    }

    /// One more object joins, and is freed before the end.
    private func comeAndGo() {
        let guest = Participant(Guest())
        try? guest.attach(to: root)
        guest.free()
    }

    /// What is wrong with them, now that their transaction has ended.
    func faults(isCommitted: Bool) -> [String] {
        objects.flatMap { $0.faults(isCommitted: isCommitted) }
            + (leaf.activeDescriptor == nil ? [] : ["an object is in a transaction that has ended"])
    }
}

private final class Guest: ParticipantHost {
    func began(_ descriptor: TransactionDescriptor) {}
    func validate(in transaction: Transaction?) throws(HoldfastError) {}
    func committed(_ descriptor: TransactionDescriptor) {}
    func rolledBack(_ descriptor: TransactionDescriptor) {}
    var hasSavepoints: Bool { true }
    func savepoint(_ number: UInt64) {}
    func rollBack(to number: UInt64) {}
}

private final class SimulatedObject: ParticipantHost, @unchecked Sendable {
    // Confined to the simulation's thread.
    private enum Phase { case idle, begun, validated, committed, rolledBack }

    private unowned let work: Work
    private var phase = Phase.idle
    private var found: [String] = []
    private var before = 0
    private var changed = 0
    private var saved: [UInt64: Int] = [:]
    var value = 0

    init(of work: Work) { self.work = work }

    func began(_ descriptor: TransactionDescriptor) {
        expect([.idle], "begun")
        phase = .begun
        before = value
    }

    func validate(in transaction: Transaction?) throws(HoldfastError) {
        expect([.begun, .validated], "validated")
        phase = .validated
        let chance = work.simulation.chance
        if chance.happens(300) {
            try work.perform(.readList(chance.number(in: 0..<4)), in: transaction)
        }
        if chance.happens(50) { throw HoldfastError(.refused, "an object has refused") }
    }

    func committed(_ descriptor: TransactionDescriptor) {
        expect([.validated], "committed")
        phase = .committed
        changed = value
    }

    func rolledBack(_ descriptor: TransactionDescriptor) {
        expect([.begun, .validated], "rolled back")
        phase = .rolledBack
        if work.simulation.weakness != .forgottenObjects { value = before }
    }

    var hasSavepoints: Bool { true }

    func savepoint(_ number: UInt64) { saved[number] = value }

    func rollBack(to number: UInt64) { value = saved[number] ?? before }

    func faults(isCommitted: Bool) -> [String] {
        if phase != (isCommitted ? .committed : .rolledBack) {
            found.append("an object is \(phase) after a transaction that was \(isCommitted ? "" : "not ")committed")
        }
        if value != (isCommitted ? changed : before) { found.append("an object is not what it was") }
        return found
    }

    private func expect(_ phases: [Phase], _ what: String) {
        if !phases.contains(phase) { found.append("an object is \(what) after it was \(phase)") }
    }
}
