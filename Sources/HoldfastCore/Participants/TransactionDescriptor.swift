/// Names one transaction over object trees: 16 bytes, equal by value. All zero stands for any transaction.
public struct TransactionDescriptor: Sendable, Hashable {
    // In the order in which the bytes lie in memory.
    private let first: UInt64
    private let second: UInt64

    /// Whichever transaction is active.
    public static let any = TransactionDescriptor(first: 0, second: 0)

    private init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// One that nobody else has; never `any`.
    static func fresh() -> TransactionDescriptor {
        var random = SystemRandomNumberGenerator()
        return TransactionDescriptor(first: random.next(), second: random.next() | 1 << 63)
    }

    public var isAny: Bool { self == .any }

    /// From 16 bytes.
    public init(_ bytes: UnsafeRawPointer) {
        first = bytes.loadUnaligned(as: UInt64.self)
        second = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    /// Writes the 16 bytes.
    public func store(to bytes: UnsafeMutableRawPointer) {
        bytes.storeBytes(of: first, as: UInt64.self)
        bytes.storeBytes(of: second, toByteOffset: 8, as: UInt64.self)
    }

    /// Lends the 16 bytes.
    @inlinable
    public func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        withUnsafeBytes(of: self) { body($0.baseAddress!.assumingMemoryBound(to: UInt8.self)) }
    }
}
