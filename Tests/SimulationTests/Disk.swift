@testable import HoldfastCore
@testable import HoldfastQuery
@testable import HoldfastStorage

/// What survives: the part of a storage that outlives processes and power.
///
/// A commit is visible at once and durable when it was synced. A power cut keeps what is durable and, of what is only
/// visible, a first part. A killed process loses nothing that was visible.
final class Disk: @unchecked Sendable {
    // Confined to the simulation's thread.
    private(set) var visible = MemoryState.fresh(random: SeededChance(seed: 0))
    /// The states since the last sync, oldest first.
    private var unsynced: [MemoryState] = []
    private var durable: MemoryState
    /// The newest sequence that was ever visible, also if it was lost since.
    private(set) var highestSequence: CommitSequence = 0

    /// Sequences that were given to a second commit.
    private(set) var reused: [CommitSequence] = []

    init() { durable = visible }

    /// Takes a commit that has happened.
    func store(_ state: MemoryState, isDurable: Bool) {
        state.commitLog.walk(from: visible.newestSequence + 1) { sequence, _ in
            if sequence <= highestSequence { reused.append(sequence) }
            return true
        }
        highestSequence = max(highestSequence, state.newestSequence)
        visible = state
        if isDurable { sync() } else { unsynced.append(state) }
    }

    func sync() {
        durable = visible
        unsynced = []
    }

    func cutPower(_ chance: SeededChance) {
        visible = ([durable] + unsynced)[chance.number(in: 0..<unsynced.count + 1)]
        sync()
    }
}
