internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment

/// What a transaction is refused for.
public enum Isolation: String, Sendable, Hashable, Encodable {
    /// Anything that it read has changed meanwhile.
    case serializable
    /// Anything that it wrote has changed meanwhile.
    case snapshot
}

/// What a write that fails leaves behind.
public enum OnError: String, Sendable, Hashable, Encodable {
    /// The transaction as it was, so that the body may react: add, and else update.
    case `continue`
    /// A transaction that stores nothing any more: every later call in it, and its commit, throw that error, until it is
    /// rolled back, or rolled back to a savepoint before; a part of it that throws goes back, and its failure with it. As in
    /// PostgreSQL, reads are refused, too.
    case abort
}

/// What a transaction is run with. A value outside its range is refused with `.invalidOption`.
public struct TransactionOptions: Sendable, Hashable {
    /// What counts as a conflict.
    public var isolation: Isolation
    /// When its commit counts as done; nil as the store says.
    public var durability: Durability?
    /// What a write leaves behind that fails, and whose error the body catches.
    public var onError: OnError
    /// How long all attempts together may wait to be committed, at most a day. Once a commit is being stored, its true
    /// outcome is told, late if need be; on a server that has not said it in time a blocking commit is told that it is unknown.
    public var timeout: Duration
    /// How often it runs when it meets conflicts: 1 to 1,000 times. None of `Store.begin`'s, which runs nothing.
    public var maxAttempts: Int
    /// Told by `Store.describe` while the transaction holds a snapshot: 1 to 64 bytes.
    public var name: String?

    /// The defaults, but for what is given: each argument is the property of its name.
    public init(
        isolation: Isolation = .serializable, durability: Durability? = nil, onError: OnError = .continue,
        timeout: Duration = .seconds(30), maxAttempts: Int = 100, name: String? = nil
    ) {
        self.isolation = isolation
        self.durability = durability
        self.onError = onError
        self.timeout = timeout
        self.maxAttempts = maxAttempts
        self.name = name
    }
}

extension TransactionOptions {
    /// As the C interface names them.
    private struct Named: Encodable {
        enum CodingKeys: String, CodingKey {
            case isolation
            case durability
            case onError = "on_error"
            case timeout = "timeout_ms"
            case maxAttempts = "max_attempts"
            case name
            case idempotencyKey = "idempotency_key"
        }
        var isolation: Isolation
        var durability: Durability?
        var onError: OnError
        var timeout: Int64
        var maxAttempts: Int?
        var name: String?
        var idempotencyKey: String?
    }

    /// Checked and named by the core's own reader, so that every face refuses the same.
    /// `allowsAttempts`: whether `maxAttempts` is an option here.
    func checked(
        idempotencyKey: String? = nil, allowsAttempts: Bool = true
    ) throws -> HoldfastCore.TransactionOptions {
        let standard = TransactionOptions()
        if idempotencyKey == nil && self == standard { return HoldfastCore.TransactionOptions() }
        let named = Named(
            isolation: isolation, durability: durability, onError: onError, timeout: timeout.milliseconds,
            maxAttempts: maxAttempts == standard.maxAttempts ? nil : maxAttempts, name: name,
            idempotencyKey: idempotencyKey)
        let json = Array(try JSONEncoder().encode(named))
        return try translatingOptions { () throws(CoreError) in
            try json.withBytes { bytes throws(CoreError) in
                try HoldfastCore.TransactionOptions(json: bytes, allowsAttempts: allowsAttempts)
            }
        }
    }
}
