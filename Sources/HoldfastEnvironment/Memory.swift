internal import CHoldfastPlatform

/// Memory of which a caller, a file or the host's code decides how much it is.
///
/// Swift's own allocations cannot be refused: where there is nothing left, the process ends. So what may be large, or
/// grows without a bound, is asked for first, and refused with `.noMemory` where the system would refuse it. What stays
/// small, an error or a node of a list, takes from the reserve that is left free for it.
public enum Memory {
    /// Throws `.noMemory` unless so many bytes can be taken.
    public static func ask(for bytes: Int) throws(HoldfastError) {
        if !isThere(for: bytes) {
            throw HoldfastError(
                .noMemory, "the system gives no \(bytes) bytes of memory more: free some, or ask for less")
        }
    }

    /// The same, for what can be done without.
    package static func isThere(for bytes: Int) -> Bool {
        hfplatform_memory_ask(bytes, Limits.inForce.memoryUnasked, Limits.inForce.memoryReserve)
    }
}

extension [UInt8] {
    /// A copy, if there is memory for it.
    @inlinable
    public init(asking bytes: UnsafeRawBufferPointer) throws(HoldfastError) {
        try Memory.ask(for: bytes.count)
        self.init(bytes)
    }
}

extension Array {
    /// Asks for the larger place to which so many more would move it.
    @inlinable
    package func askToGrow(by added: Int = 1) throws(HoldfastError) {
        let wanted = count + added
        if wanted > capacity { try Memory.ask(for: 2 * wanted * MemoryLayout<Element>.stride) }
    }
}

extension Dictionary {
    /// As an array's.
    @inlinable
    package func askToGrow(by added: Int = 1) throws(HoldfastError) {
        let wanted = count + added
        if wanted > capacity {
            try Memory.ask(for: 3 * wanted * (MemoryLayout<Key>.stride + MemoryLayout<Value>.stride))
        }
    }
}
