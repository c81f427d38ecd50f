@testable import HoldfastCore
@testable import HoldfastQuery

/// Pieces of work that are each to be done once, however often clients come with them: their idempotency keys see to
/// that.
struct Claims {
    private var sequences: [Int: CommitSequence] = [:]
    private(set) var faults: [String] = []

    func name(of number: Int) -> String { "claim\(number)" }

    mutating func noteSuccess(of number: Int, _ receipt: Receipt) {
        if let before = sequences[number], before != receipt.sequence {
            faults.append("claim \(number) was done as commit \(before) and as commit \(receipt.sequence)")
        }
        sequences[number] = receipt.sequence
    }

    /// What a power cut took can be done again.
    mutating func forget(behind newest: CommitSequence) { sequences = sequences.filter { $0.value <= newest } }
}
