/// What one transaction did, as its client saw it.
public struct TransactionRecord: Sendable, Codable {
    public enum Operation: Sendable, Equatable, Codable {
        /// Appends a value to the list under a key. No value is appended twice to one key in a history.
        case append(String, Int)
        /// What the list under a key was.
        case read(String, [Int])
    }

    public enum Outcome: Sendable, Codable {
        case committed
        /// Certainly nothing was stored.
        case aborted
        /// The client was not told. It counts as committed once somebody has seen its writes, and until then as
        /// something that may or may not happen yet.
        case unknown
    }

    public var process: Int
    /// When it was called and when it answered, on one clock for the whole history. That of an unknown outcome has
    /// no answer.
    public var began: Int
    public var ended: Int
    public var operations: [Operation]
    public var outcome: Outcome

    public init(process: Int, began: Int, ended: Int, operations: [Operation], outcome: Outcome) {
        self.process = process
        self.began = began
        self.ended = ended
        self.operations = operations
        self.outcome = outcome
    }
}
