/// What one thread at a time touches, as its owner sees to: the leader of the commit queue, who passes the lead on through
/// the queue's lock, or a worker, which never runs two turns at once. Sendable for that reason.
final class Confined<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: sending Value) { self.value = value }
}
