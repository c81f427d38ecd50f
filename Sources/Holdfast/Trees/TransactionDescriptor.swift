internal import HoldfastCore

/// Names one transaction of an object tree: 16 bytes, equal by value.
///
/// It stays where its tree is.
public struct TransactionDescriptor {
    let core: HoldfastCore.TransactionDescriptor
    /// A member of its tree; none for `any`.
    private let participant: Participant?

    init(_ core: HoldfastCore.TransactionDescriptor, _ participant: Participant?) {
        self.core = core
        self.participant = participant
    }

    /// Whichever transaction is active: all bytes are 0.
    public static var any: TransactionDescriptor { TransactionDescriptor(.any, nil) }

    /// The 16 bytes.
    public var bytes: [UInt8] { core.withBytes { Array(UnsafeBufferPointer(start: $0, count: 16)) } }

    /// Commits the transaction, as `commitTransaction` of a member of its tree; `any` has no tree and throws
    /// `.transactionNotActive`.
    public func commit() throws {
        guard let participant else {
            throw HoldfastError(.transactionNotActive, "of any transaction no tree is known: commit by a member of it")
        }
        try translatingErrors { () throws(CoreError) in try participant.commit(core) }
    }
}

@available(*, unavailable)
extension TransactionDescriptor: Sendable {}

extension TransactionDescriptor: Hashable {
    public static func == (left: TransactionDescriptor, right: TransactionDescriptor) -> Bool {
        left.core == right.core
    }
    public func hash(into hasher: inout Hasher) { hasher.combine(core) }
}
