internal import CHoldfastPlatform
public import Synchronization

/// Something of which each process has one of its own.
///
/// Of what a forked child inherits, nothing that has a lock is of use: a thread that the child does not have may have
/// held it at the fork. So the child makes itself a fresh one at its first use, and the parent's stays untouched.
public struct PerProcess<Value: ProcessOwned>: ~Copyable, Sendable {
    /// A retained `Value`, 0 before the first use.
    @usableFromInline let current = Atomic<UInt>(0)

    @inlinable public init() {}

    public var value: Value {
        @inlinable get {
            // Retained by `current` for ever, also the parent's: what it holds may still be recognised as inherited.
            if let pointer = UnsafeRawPointer(bitPattern: current.load(ordering: .acquiring)) {
                let value = Unmanaged<Value>.fromOpaque(pointer).takeUnretainedValue()
                if value.epoch == processEpoch() { return value }
            }
            return renew()
        }
    }

    @usableFromInline func renew() -> Value {
        while true {
            let address = current.load(ordering: .acquiring)
            if let pointer = UnsafeRawPointer(bitPattern: address) {
                let value = Unmanaged<Value>.fromOpaque(pointer).takeUnretainedValue()
                if value.epoch == processEpoch() { return value }
            }
            let fresh = Unmanaged.passRetained(Value(epoch: processEpoch()))
            let new = UInt(bitPattern: fresh.toOpaque())
            if current.compareExchange(expected: address, desired: new, ordering: .acquiringAndReleasing).exchanged {
                return fresh.takeUnretainedValue()
            }
            fresh.release()
        }
    }
}

public protocol ProcessOwned: AnyObject, Sendable {
    /// The process that made it; see `processEpoch`.
    var epoch: UInt32 { get }
    init(epoch: UInt32)
}

/// Runs code of the host's. Answers whether this is still the process that called it: the host may fork there, and what
/// the child has on its stack is the parent's. A child on a thread of the library's own ends here.
public func isSameProcess(after hostCode: () -> Void) -> Bool {
    let epoch = processEpoch()
    hostCode()
    hfplatform_thread_end_if_forked(epoch)
    return processEpoch() == epoch
}

/// Tells a process from its forked children: how many forks lie between it and the one that loaded the library.
public func processEpoch() -> UInt32 { hfplatform_fork_epoch() }
