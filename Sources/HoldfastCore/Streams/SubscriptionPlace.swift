internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The place of a durable subscription, from which it goes on when it is opened again: behind what its owner has acknowledged, and
/// behind what came then, up to the next commit that he is told of. Else the commit log would leave a subscription behind that
/// misses nothing, while its repository is quiet and others are not.
///
/// An acknowledgement takes it there. Without one the follower does, in a commit that nobody waits for, once the commit log has
/// put a good part of what it keeps behind the stored place.
final class SubscriptionPlace: CommitOwner {
    private struct State {
        /// What is stored, or on its way there.
        var stored: CommitSequence
        var followed: CommitSequence
        /// Where it stays until the owner acknowledges the newest commit that he was told of.
        var hold: (at: CommitSequence, told: CommitSequence)?
        // What the commit log has got behind `stored`, other places aside: those would else move one another for ever.
        var newest: CommitSequence = 0
        var bytes = 0
        var times: (first: UInt64, last: UInt64)?

        var destination: CommitSequence { hold?.at ?? followed }

        mutating func move(to sequence: CommitSequence) {
            stored = max(stored, sequence)
            if newest <= stored { (bytes, times) = (0, nil) }
        }
    }

    /// It is moved when this part of what is kept has come.
    private static let part = 16
    /// Commits that are kept for less are not kept for subscriptions.
    private static let shortestAge: UInt64 = 1000

    private let queue: CommitQueue
    private let key: EntityKey
    private let options: StoreOptions
    private let state: Lock<State>

    /// `told`: where it begins; beyond what was acknowledged where that is lost, which is still to be dealt with.
    init(_ key: EntityKey, at acknowledged: CommitSequence, since told: CommitSequence, of store: Store) {
        queue = store.queue
        options = store.options
        self.key = key
        let hold = told > acknowledged ? (acknowledged, told) : nil
        state = Lock(State(stored: acknowledged, followed: told, hold: hold))
    }

    // MARK: For the follower

    /// `told`: those of them that the owner is told of.
    func follow(
        _ entries: some Sequence<CommitLogEntry>, through last: CommitSequence, told: [ChangeBatch.Commit]
    ) {
        state.withLock { state in
            for entry in entries where entry.changes.contains(where: { $0.key.repository != key.repository }) {
                state.newest = entry.sequence
                state.bytes += CommitLogSizes.bytes(of: [entry])
                state.times = (state.times?.first ?? entry.time, entry.time)
            }
            state.followed = last
            guard let first = told.first, let newest = told.last else { return }
            state.hold = (state.hold?.at ?? first.sequence - 1, newest.sequence)
        }
    }

    /// The owner is told that what was committed up to there is not known.
    func lose(through last: CommitSequence) {
        state.withLock { state in
            state.hold = (state.hold?.at ?? state.followed, last)
            state.followed = last
        }
    }

    /// The owner is told that what he has acknowledged may never have been.
    func beginHistory(at sequence: CommitSequence) {
        state.withLock { state in
            let stored = min(state.stored, sequence)
            state = State(stored: stored, followed: sequence, hold: (stored, sequence))
        }
    }

    /// Moves all of a store's, where it is time for one: that is one commit.
    static func move(_ places: [SubscriptionPlace]) {
        guard let first = places.first, places.contains(where: \.isDue) else { return }
        let moves = places.compactMap { place in place.destination.map { (place, $0) } }
        let deadline = first.queue.time.monotonicNanoseconds() &+ TransactionOptions().timeoutMilliseconds &* 1_000_000
        do throws(HoldfastError) {
            var writes: [Write] = []
            for (place, destination) in moves { writes.append(try place.write(destination)) }
            let commit = Commit(writes: writes, isDurable: false, deadline: deadline, owner: first)
            // Where there is no slot, at the next step.
            guard try first.queue.takeFreeSlot(for: commit) else { return }
            for (place, destination) in moves { place.state.withLock { $0.move(to: destination) } }
        } catch {
            // The store closes.
        }
    }

    private var isDue: Bool {
        state.withLock { state in
            let newest = min(state.newest, state.destination)
            guard newest > state.stored else { return false }
            let age = state.times.map { $0.last - min($0.first, $0.last) } ?? 0
            return newest - state.stored >= options.logRetention / CommitSequence(Self.part)
                || state.bytes >= options.logMaxBytes / Self.part
                || options.logMaxAgeMilliseconds.map { age >= max($0 / UInt64(Self.part), Self.shortestAge) } ?? false
        }
    }

    private var destination: CommitSequence? {
        state.withLock { $0.destination > $0.stored ? $0.destination : nil }
    }

    /// Whoever else is open under its name may have come further.
    private func write(_ sequence: CommitSequence) throws(HoldfastError) -> Write {
        let update = try Array("{\"$max\":{\"value\":\(sequence)}}".utf8).withBytes { text throws(HoldfastError) in
            try Update(text, key: "id")
        }
        let initial = Store.systemEntity(key.id.text, Int64(sequence))
        return Write(key: key, action: .modify(.update(update, initial: initial)))
    }

    /// Where a move has failed the next one, which goes further, stands for it.
    func ended(_ commit: Commit, _ events: inout [Event]) { queue.delivered(1) }

    // MARK: For the owner

    /// Where an acknowledgement up to there takes it.
    func destination(acknowledging sequence: CommitSequence) -> CommitSequence {
        state.withLock { state in
            if let hold = state.hold, hold.told > sequence { return max(sequence, hold.at) }
            return max(sequence, state.followed)
        }
    }

    /// Once it is stored.
    func acknowledged(_ sequence: CommitSequence, movingTo destination: CommitSequence) {
        state.withLock { state in
            if let hold = state.hold {
                state.hold = hold.told > sequence ? (max(hold.at, sequence), hold.told) : nil
            }
            state.move(to: destination)
        }
    }
}
