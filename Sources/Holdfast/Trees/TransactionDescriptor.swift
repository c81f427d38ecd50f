internal import HoldfastCore

/// Names one transaction of an object tree: 16 bytes, equal by value. To perform it is to commit that transaction.
///
/// It stays where its tree is.
public struct TransactionDescriptor: Transaction {
    let core: HoldfastCore.TransactionDescriptor
    /// A member of its tree; none for `any`.
    private let participant: Participant?

    init(_ core: HoldfastCore.TransactionDescriptor, _ participant: Participant?) {
        self.core = core
        self.participant = participant
    }

    /// The 16 bytes.
    public var bytes: [UInt8] { core.withBytes { Array(UnsafeBufferPointer(start: $0, count: 16)) } }

    /// Commits the transaction, as `commitTransaction`; `any` has no tree and throws
    /// `TransactionError.transactionIsNotActive`.
    public func perform() throws {
        guard let participant else { throw TransactionError.transactionIsNotActive }
        try translatingTrees { () throws(CoreError) in try participant.commit(core) }
    }

    public nonisolated(nonsending) func performAsync() async throws {
        try Task.checkCancellation()
        try perform()
    }
}

extension Transaction where Self == TransactionDescriptor {
    /// Whichever transaction is active: all bytes are 0.
    public static var any: TransactionDescriptor { TransactionDescriptor(.any, nil) }
}

@available(*, unavailable)
extension TransactionDescriptor: Sendable {}

extension TransactionDescriptor: Hashable {
    public static func == (left: TransactionDescriptor, right: TransactionDescriptor) -> Bool {
        left.core == right.core
    }
    public func hash(into hasher: inout Hasher) { hasher.combine(core) }
}
