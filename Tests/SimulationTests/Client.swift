@testable import HoldfastCore

/// One of many who use the store: runs one piece of work after the other, a step at a time.
final class Client: @unchecked Sendable {
    // Confined to the simulation's thread.
    let number: Int
    private unowned let simulation: Simulation
    private(set) var work: Work?
    /// While a step of its own is being run, which others may interrupt.
    private var isStepping = false

    init(number: Int, simulation: Simulation) {
        self.number = number
        self.simulation = simulation
    }

    var canStep: Bool { !isStepping && !(work?.isSubmitted ?? false) }

    func step() {
        isStepping = true
        defer { isStepping = false }
        let work = work ?? Work(of: self, in: simulation)
        self.work = work
        work.step()
        if work.isOver && self.work === work { self.work = nil }
    }

    /// Its work ended by an event.
    func workEnded(_ ended: Work) { if work === ended { work = nil } }

    /// Its process has ended.
    func abandon() {
        work?.abandon()
        work = nil
    }
}
