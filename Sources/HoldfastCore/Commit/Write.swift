public import HoldfastQuery
public import HoldfastStorage

/// One change that a commit asks for.
public struct Write: Sendable {
    public enum Action: Sendable {
        /// Store this text.
        case put([UInt8])
        case delete
        /// Change some members of what is there when its batch is validated.
        case modify(Modification)
    }

    /// What must hold when its batch is validated. Writes of a transaction were checked at the call, and
    /// what they saw is in its read set.
    public enum Precondition: Sendable, Equatable {
        case none
        case absent
        case present
        /// Present, in this version.
        case version(CommitSequence)
    }

    public var key: EntityKey
    public var action: Action
    public var precondition: Precondition
    /// The text before an id was assigned, when one was: what the idempotency fingerprint counts.
    public var bodyBeforeAssignment: [UInt8]?
    /// The fingerprint of the modifications that led to the text, when some did in a transaction: that text depends on
    /// what the transaction saw, but whoever repeats the work with its idempotency key asks for the same.
    var asked: UInt64?

    public init(
        key: EntityKey, action: Action, precondition: Precondition = .none, bodyBeforeAssignment: [UInt8]? = nil
    ) {
        self.key = key
        self.action = action
        self.precondition = precondition
        self.bodyBeforeAssignment = bodyBeforeAssignment
    }

    /// About how many bytes this write adds to a batch.
    package var size: Int {
        switch action {
        case .put(let body): body.count + 64
        case .delete: 64
        case .modify(let modification): modification.text.count + 64
        }
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo; RFC 9923): stable across processes, which Swift's own hashing is not.
package struct Fingerprint {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: [UInt8]) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        add(UInt64(bytes.count))
    }

    mutating func add(_ modification: Modification) {
        switch modification {
        case .patch: add(3)
        case .update: add(4)
        }
        add(modification.text)
        if let initial = modification.initial { add(initial) }
    }

    mutating func add(_ number: UInt64) {
        var rest = number
        for _ in 0..<8 {
            value = (value ^ (rest & 0xff)) &* 0x0000_0100_0000_01b3
            rest >>= 8
        }
    }

    /// Of a whole write set. The sum over the writes does not depend on their order, which for assigned ids is
    /// not the same twice.
    package static func of(_ writes: [Write]) -> UInt64 {
        writes.reduce(UInt64(writes.count)) { sum, write in
            var one = Fingerprint()
            one.add(UInt64(bitPattern: write.key.repository))
            if write.bodyBeforeAssignment == nil { one.add(write.key.id.bytes) }
            switch write.action {
            case .put where write.asked != nil:
                one.add(5)
                one.add(write.asked!)
            case .put(let body):
                one.add(1)
                one.add(write.bodyBeforeAssignment ?? body)
            case .delete: one.add(2)
            case .modify(let modification): one.add(modification)
            }
            return sum &+ one.value
        }
    }
}
