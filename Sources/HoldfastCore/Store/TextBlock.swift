internal import HoldfastEnvironment

/// Text that grows in a block of malloc's, which a C program can take over without a copy. Closed with a NUL behind its
/// bytes.
///
/// `@unchecked Sendable`: appended to by the one thread that makes it, before others see it; then it stays as it is.
public final class TextBlock: @unchecked Sendable {
    // No access nests in another, and looking for that would cost more than most appends.
    @exclusivity(unchecked) private var start: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var capacity = 0
    @exclusivity(unchecked) public private(set) var count = 0
    /// How large the block is made at first, if anything is appended.
    private let expected: Int
    /// How large it is made where it does not stay small.
    private let full: Int

    private static let small = 64 << 10

    init(expecting bytes: Int, atMost full: Int = 0) { (expected, self.full) = (bytes, full) }

    deinit { free(start) }

    /// Makes room for so many bytes and the NUL. What is small mostly grows on, and to move it costs more than memory that
    /// is never touched.
    private func reserve(_ bytes: Int) throws(HoldfastError) {
        if bytes < capacity { return }
        let wanted = max(bytes + 1, capacity < Self.small ? capacity * 4 : max(capacity * 2, full), expected)
        try Memory.ask(for: wanted - capacity)
        guard let grown = realloc(start, wanted) else {
            throw HoldfastError(.noMemory, "no memory for a result of \(wanted) bytes")
        }
        start = grown
        capacity = wanted
    }

    /// Appends a byte and, behind it, bytes.
    func append(_ bytes: UnsafeRawBufferPointer, behind byte: UInt8) throws(HoldfastError) {
        try reserve(count + 1 + bytes.count)
        start!.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        if let from = bytes.baseAddress { memcpy(start! + count + 1, from, bytes.count) }
        count += 1 + bytes.count
        terminate()
    }

    func append(_ byte: UInt8) throws(HoldfastError) {
        try reserve(count + 1)
        start!.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
        terminate()
    }

    private func terminate() { start!.storeBytes(of: 0, toByteOffset: count, as: UInt8.self) }

    /// Lends the bytes.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withExtendedLifetime(self) { () throws(Failure) in
            try body(UnsafeRawBufferPointer(start: start, count: count))
        }
    }

    public var copy: [UInt8] {
        get throws(HoldfastError) { try withBytes { bytes throws(HoldfastError) in try Array(asking: bytes) } }
    }

    /// Hands the block over, to be freed with free, and is empty from then on. Nil where nothing was appended.
    public func take() -> UnsafeMutableRawPointer? {
        defer { (start, capacity, count) = (nil, 0, 0) }
        return start
    }
}
