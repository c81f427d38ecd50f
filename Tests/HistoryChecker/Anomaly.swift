/// Something in a history that no serial execution in the order of real time can explain.
public struct Anomaly: Sendable, CustomStringConvertible {
    /// Adya's names for the phenomena, and Elle's for what lists show directly.
    public enum Kind: String, Sendable, CaseIterable {
        /// A read that contradicts what the same transaction read or wrote before.
        case inconsistentWithItself = "internal"
        /// A read of a value that nobody wrote.
        case readFromNowhere = "garbage read"
        /// A value twice in one list.
        case duplicateValue = "duplicate value"
        /// Two reads of a list of which neither begins with the other.
        case incompatibleOrder = "incompatible order"
        case abortedRead = "G1a"
        case intermediateRead = "G1b"
        /// Two transactions that changed one list, both from the same version of it.
        case lostUpdate = "lost update"
        /// A cycle of writes.
        case writeCycle = "G0"
        /// A cycle of writes and of reads that saw them.
        case informationCycle = "G1c"
        /// A cycle with one read that missed a write.
        case readSkew = "G-single"
        /// A cycle with several reads that missed writes; with two, write skew.
        case antidependencyCycle = "G2-item"
    }

    public let kind: Kind
    /// Whether it is one only because a transaction had ended before another began.
    public let needsRealTime: Bool
    /// The transactions, by their index in the history; a cycle in its order.
    public let transactions: [Int]
    public let explanation: String

    init(_ kind: Kind, needsRealTime: Bool = false, _ transactions: [Int], _ explanation: String) {
        self.kind = kind
        self.needsRealTime = needsRealTime
        self.transactions = transactions
        self.explanation = explanation
    }

    /// As in "G-single-realtime".
    public var name: String { kind.rawValue + (needsRealTime ? "-realtime" : "") }

    public var description: String { "\(name): \(explanation)" }
}
