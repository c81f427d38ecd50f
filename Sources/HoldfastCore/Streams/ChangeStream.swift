public import HoldfastEnvironment
internal import Synchronization

/// A stream that is open, until it is cancelled or let go of.
public final class ChangeStream: Sendable {
    private let store: Store
    private let outbox: StreamOutbox
    /// Of one that tells of changes.
    private let selection: ChangeSelection?
    private let durableName: String?
    /// Of a durable subscription of a store that can be written.
    private let place: SubscriptionPlace?
    private let isCancelled = Atomic<Bool>(false)

    init(
        _ store: Store, _ outbox: StreamOutbox, _ selection: ChangeSelection?, durableName: String? = nil,
        _ place: SubscriptionPlace? = nil
    ) {
        self.store = store
        self.outbox = outbox
        self.selection = selection
        self.durableName = durableName
        self.place = place
    }

    deinit { cancel() }

    /// When it returns the observer hears nothing any more, except for a call that runs on this very thread.
    public func cancel() {
        if store.isForeign || isCancelled.exchange(true, ordering: .acquiringAndReleasing) { return }
        outbox.cancel()
        store.follower.detach(outbox, selection)
        store.follower.end(durableName)
    }

    /// The observer has dealt with the oldest event that it was told and had not dealt with, where it holds its load.
    public func handled() { outbox.handled() }

    /// Of a durable subscription: it goes on behind this position when it is opened again.
    public func acknowledge(_ position: String) throws(HoldfastError) {
        guard let durableName else {
            throw HoldfastError(
                .invalidState, "the stream is no durable subscription: open it with the option \"durable\"")
        }
        try store.requireWritable()
        let sequence = try StreamPosition.sequence(position, in: store.incarnation, head: try store.head())
        let destination = place?.destination(acknowledging: sequence) ?? sequence
        try store.setSubscription(durableName, to: destination)
        place?.acknowledged(sequence, movingTo: destination)
    }
}
