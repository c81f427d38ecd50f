public import HoldfastEnvironment
internal import HoldfastQuery

public enum Isolation: Sendable {
    /// Refused when anything that was read has changed.
    case serializable
    /// Refused when anything that was written has changed.
    case snapshot
}

/// What a transaction is begun with; `transaction.h` describes each.
public struct TransactionOptions: Sendable {
    public var isolation = Isolation.serializable
    /// Nil: the store's.
    public var isDurable: Bool?
    /// 0: waits for no slot under `maxInFlight`, and is not withdrawn once it is accepted.
    public var timeoutMilliseconds: UInt64 = 30_000
    /// Whether a submission waits for a slot, on its thread, where there is none.
    public var waitsForSlot = true
    public var idempotencyKey: [UInt8]?
    /// The fingerprint of what was asked for under the key, where the writes are only a part of it.
    package var asked: UInt64?
    /// Whether the first write that fails dooms it.
    public var abortsOnError = false
    /// For diagnostics.
    public var name: String?
    /// For `Store.transact` alone.
    public var maxAttempts = 100

    public init() {}

    /// `allowsAttempts`: whether "max_attempts" is an option here.
    public init(json: UnsafeRawBufferPointer?, allowsAttempts: Bool = false) throws(HoldfastError) {
        guard let json else {
            self.init()
            return
        }
        try self.init(OptionReader(json: json, what: "transaction options"), allowsAttempts: allowsAttempts)
    }

    init(_ reader: OptionReader, allowsAttempts: Bool) throws(HoldfastError) {
        var reader = reader
        if let value = try reader.text("isolation", oneOf: ["serializable", "snapshot"]) {
            isolation = value == "snapshot" ? .snapshot : .serializable
        }
        isDurable = try reader.durability()
        if let value = try reader.text("on_error", oneOf: ["continue", "abort"]) { abortsOnError = value == "abort" }
        if let value = try reader.integer("timeout_ms", in: 0...86_400_000) { timeoutMilliseconds = UInt64(value) }
        if let value = try reader.text("when_full", oneOf: ["wait", "refuse"]) { waitsForSlot = value == "wait" }
        if let value = try reader.text("idempotency_key") {
            let bytes = Array(value.utf8)
            guard (1...255).contains(bytes.count) else {
                throw HoldfastError(
                    .invalidOption, "the option \"idempotency_key\" has \(bytes.count) bytes: give 1 to 255",
                    detail: [("option", .text("idempotency_key"))])
            }
            idempotencyKey = bytes
        }
        if let value = try reader.text("name") {
            guard (1...64).contains(value.utf8.count) else {
                throw HoldfastError(
                    .invalidOption, "the option \"name\" has \(value.utf8.count) bytes: give 1 to 64",
                    detail: [("option", .text("name"))])
            }
            name = value
        }
        if allowsAttempts, let value = try reader.integer("max_attempts", in: 1...1000) { maxAttempts = Int(value) }
        try reader.finish()
    }
}
