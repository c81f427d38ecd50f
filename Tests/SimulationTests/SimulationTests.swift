import Glibc
import Testing

@testable import HoldfastCore

/// `HOLDFAST_SEEDS` sets how many seeds are run, `HOLDFAST_SEED` runs one alone, and `HOLDFAST_TRACE` has it tell
/// what happens.
struct SimulationTests {
    static let seeds: Range<UInt64> =
        if let one = number(from: "HOLDFAST_SEED") { one..<one + 1 } else {
            0..<(number(from: "HOLDFAST_SEEDS") ?? 200)
        }

    @Test(arguments: seeds)
    func `whatever fails and whoever interrupts, the promises hold`(seed: UInt64) throws {
        let faults = try simulate(seed: seed).faults
        #expect(faults.isEmpty, "HOLDFAST_SEED=\(seed) shows it again")
    }

    @Test func `a seed replays exactly`() throws {
        for seed in 0..<5 as Range<UInt64> {
            let first = try simulate(seed: seed)
            let second = try simulate(seed: seed)
            #expect(first.digest == second.digest)
        }
    }

    @Test func `the simulation reaches what it is for`() throws {
        let reports = try (0..<50).map { try simulate(seed: $0) }
        #expect(reports.contains { $0.crashes > 2 })
        #expect(reports.map(\.committed).reduce(0, +) > 1_000)
        #expect(reports.map(\.aborted).reduce(0, +) > 100)
        #expect(reports.map(\.unknown).reduce(0, +) > 10)
    }

    @Test(arguments: [
        (Weakness.noKeyChecks, "lost update"), (.noKeyChecks, "accounts hold"), (.noPredicateChecks, "G2-item"),
        (.noPredicateChecks, "members"), (.noPredicateChecks, "on duty"), (.earlyAcknowledgement, "is lost"),
        (.reusedSequences, "was used before"),
    ])
    func `a weakened core is found out`(weakness: Weakness, symptom: String) throws {
        for seed in 0..<100 as Range<UInt64> {
            let faults = try simulate(seed: seed, weakness: weakness).faults
            if faults.contains(where: { $0.contains(symptom) }) { return }
        }
        Issue.record("no seed shows \(symptom) without \(weakness)")
    }

    private static func number(from variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }
}

struct SimulationReport {
    var faults: [String]
    var digest: UInt64
    var committed: Int
    var aborted: Int
    var unknown: Int
    var crashes: Int
}

/// Runs one seed: everything that happens follows from it.
func simulate(seed: UInt64, weakness: Weakness = .none, steps: Int = 1_000) throws -> SimulationReport {
    let simulation = Simulation(seed: seed, weakness: weakness)
    try simulation.run(steps: steps)
    return SimulationReport(
        faults: simulation.ledger.faults + simulation.claims.faults
            + simulation.disk.reused.map { "sequence \($0) was used before" }, digest: simulation.digest.value,
        committed: simulation.ledger.committed, aborted: simulation.ledger.aborted,
        unknown: simulation.ledger.unknown, crashes: simulation.crashes)
}

extension Simulation {
    static let isTracing = getenv("HOLDFAST_TRACE") != nil
}
