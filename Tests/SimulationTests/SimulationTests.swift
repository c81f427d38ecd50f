import Foundation
import SeededRandom
import Testing

@testable import HoldfastCore

/// `HOLDFAST_SEEDS` sets how many seeds are run, half of them others each time; `HOLDFAST_SEED` runs one alone, and
/// `HOLDFAST_TRACE` has it tell what happens.
@Suite(.serialized)
struct SimulationTests {
    static let seeds: [UInt64] =
        if let one = number(from: "HOLDFAST_SEED") { [one] } else { Seeds.of(number(from: "HOLDFAST_SEEDS") ?? 100) }

    @Test(arguments: seeds)
    func `whatever fails and whoever interrupts, the promises hold`(seed: UInt64) async throws {
        let report = try await simulate(seed: seed)
        #expect(report.faults.isEmpty, "HOLDFAST_SEED=\(seed) shows it again, with the limits \(report.limits)")
    }

    @Test func `a seed replays exactly`() async throws {
        for seed in 0..<5 as Range<UInt64> {
            let first = try await simulate(seed: seed)
            let second = try await simulate(seed: seed)
            #expect(first.digest == second.digest)
        }
    }

    @Test func `the simulation reaches what it is for`() async throws {
        var reports: [SimulationReport] = []
        for seed in 0..<50 as Range<UInt64> { reports.append(try await simulate(seed: seed)) }
        #expect(reports.contains { $0.crashes > 2 })
        #expect(reports.map(\.committed).reduce(0, +) > 1_000)
        #expect(reports.map(\.aborted).reduce(0, +) > 100)
        #expect(reports.map(\.unknown).reduce(0, +) > 10)
    }

    @Test(arguments: [
        (Weakness.noKeyChecks, "lost update"), (.noKeyChecks, "accounts hold"), (.noPredicateChecks, "G2-item"),
        (.noPredicateChecks, "members"), (.noPredicateChecks, "on duty"), (.earlyAcknowledgement, "is lost"),
        (.reusedSequences, "was used before"), (.forgottenObjects, "not what it was"),
    ])
    func `a weakened core is found out`(weakness: Weakness, symptom: String) async throws {
        for seed in 0..<100 as Range<UInt64> {
            let faults = try await simulate(seed: seed, weakness: weakness).faults
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
    var limits: [String]
    var digest: UInt64
    var committed: Int
    var aborted: Int
    var unknown: Int
    var crashes: Int
}

/// Runs one seed, on a thread of its own: it is busy for long, and the tests beside it need the few that tasks have.
func simulate(seed: UInt64, weakness: Weakness = .none) async throws -> SimulationReport {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try run(seed: seed, weakness: weakness, steps: 1_000) }) }.start()
    }
}

/// Everything that happens follows from the seed.
private func run(seed: UInt64, weakness: Weakness, steps: Int) throws -> SimulationReport {
    let simulation = Simulation(seed: seed, weakness: weakness)
    try simulation.run(steps: steps)
    return SimulationReport(
        faults: simulation.ledger.faults + simulation.claims.faults
            + simulation.disk.reused.map { "sequence \($0) was used before" },
        limits: simulation.limits, digest: simulation.digest.value,
        committed: simulation.ledger.committed, aborted: simulation.ledger.aborted,
        unknown: simulation.ledger.unknown, crashes: simulation.crashes)
}

extension Simulation {
    static let isTracing = getenv("HOLDFAST_TRACE") != nil
}
