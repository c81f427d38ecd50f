internal import CHoldfastPlatform

/// The one lock of the library: a pthread mutex around the state that it guards. (The standard library's
/// `Mutex` is invisible to the thread sanitizer on Linux, which is how this library proves its locking.)
///
/// Never held while the host's code runs, but for what is asked whether to wait on for a server (`Interrupt.lookInside`).
public final class Lock<State>: @unchecked Sendable {
    // Sendable although it holds mutable state: every access goes through `withLock`.
    // The mutex excludes what Swift would look for at each access.
    @exclusivity(unchecked) @usableFromInline var state: State
    /// Untyped, so that this can be inlined where nothing is known of mutexes.
    @usableFromInline let address: UnsafeMutableRawPointer

    @inlinable
    public init(_ state: consuming sending State) {
        self.state = state
        address = makeMutex()
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        acquire()
        defer { release() }
        return try body(&state)
    }

    /// As `withLock`; nil, without waiting, where somebody else has it.
    public func withLockIfFree<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { release() }
        return try body(&state)
    }

    /// As `withLock`, where somebody may have it while he waits for a server: asks meanwhile whether the call is to end.
    package func withLockAsking<Result>(
        _ body: (inout State) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        while Interrupt.isWanted {
            if let result = try withLockIfFree(body) { return result }
            usleep(500)
            try Interrupt.lookInside()
        }
        return try withLock(body)
    }

    private var mutex: UnsafeMutablePointer<pthread_mutex_t> { address.assumingMemoryBound(to: pthread_mutex_t.self) }

    @usableFromInline func acquire() { hfplatform_mutex_lock(mutex) }
    @usableFromInline func release() { hfplatform_mutex_unlock(mutex) }
}

@usableFromInline func makeMutex() -> UnsafeMutableRawPointer {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    return UnsafeMutableRawPointer(mutex)
}
