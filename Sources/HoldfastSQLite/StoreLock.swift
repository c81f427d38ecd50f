import CHoldfastPlatform
import HoldfastCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What the processes that have one store open agree on, by locks on bytes of the sidecar file `<path>-lock`:
///
///     0      presence   shared by every process that has the store open for writing; one that gets it alone is the
///                       first, who recovers, or the last, who tidies up
///     1      door       held while a process opens or closes the store, so that one at a time finds that out
///     2…     queue      see WriteQueue.swift
///
/// The file's content names the process that was at the door last, and is meaningful only to one that is kept waiting
/// there:
///
///     {"pid":4711,"program":"music-server","since":1732147200000}
///
/// The file stays when the store is closed, because removing it could take a lock from under another process that
/// is just opening it. Whoever opens for reading takes no part: SQLite's own locks are enough for it.
final class StoreLock: Sendable {
    static let queueStart: Int64 = 2

    private static let presence: Int64 = 0
    private static let door: Int64 = 1
    /// How long the last process to close waits for another that is just opening.
    private static let closingMilliseconds: UInt64 = 5_000

    private let path: String
    private let time: any TimeSource
    private let note: [UInt8]
    // nonisolated(unsafe): set once; the platform's functions lock the table behind it.
    private nonisolated(unsafe) let claim: OpaquePointer
    /// -1 for a store that is only read.
    private let descriptor: Int32

    /// Enters the file into this process's table and, for writing, opens the sidecar file.
    init(_ location: Location, readOnly: Bool, environment: Environment) throws(HoldfastError) {
        path = location.path
        time = environment.time
        note = Self.note(environment)
        claim = try Self.claim(location.path, note)
        guard !readOnly else {
            descriptor = -1
            return
        }
        descriptor = hfp_open_unshared(location.lockPath, O_RDWR | O_CREAT, 0o600)
        // Where this throws, the claim goes with the object, whose deinit runs because it is complete.
        if descriptor < 0 { throw Location.error(-descriptor, "opening", location.lockPath) }
        hfp_claim_attach(claim, descriptor)
    }

    deinit { hfp_claim_free(claim) }

    // MARK: Opening and closing

    /// Waits at the door, and keeps it until `enter`. Answers whether no other process has the store open.
    func knock(timeoutMilliseconds: UInt64) throws(HoldfastError) -> Bool {
        guard try waitForDoor(timeoutMilliseconds) else {
            throw HoldfastError(
                .busy,
                "\(path) is just being opened, recovered or closed by \(holder?.name ?? "another process"): wait for it, "
                    + "or raise lock_timeout_ms", detail: holderDetail)
        }
        writeNote()
        if try set(HFP_EXCLUSIVE, Self.presence) { return true }
        guard try set(HFP_SHARED, Self.presence) else {
            throw HoldfastError(.busy, "\(path) is held by a process that does not share it", detail: holderDetail)
        }
        return false
    }

    /// Lets others open and close the store beside this process.
    func enter() throws(HoldfastError) {
        _ = try set(HFP_SHARED, Self.presence)
        _ = try set(HFP_UNLOCKED, Self.door)
    }

    /// Whether this process is the last that has the store open. From here on nobody else opens it until this object is
    /// gone.
    func isLast() throws(HoldfastError) -> Bool {
        guard try waitForDoor(Self.closingMilliseconds) else { return false }
        return try set(HFP_EXCLUSIVE, Self.presence)
    }

    private func waitForDoor(_ milliseconds: UInt64) throws(HoldfastError) -> Bool {
        let deadline = time.monotonicNanoseconds() &+ milliseconds.multipliedClamped(by: 1_000_000)
        while try !set(HFP_EXCLUSIVE, Self.door) {
            if time.monotonicNanoseconds() >= deadline { return false }
            usleep(2_000)
        }
        return true
    }

    // MARK: Locks

    /// Sets this process's lock on bytes of the file, without waiting. Answers whether no other process is in the way.
    func set(_ kind: hfp_lock_kind, _ start: Int64, count: Int64 = 1) throws(HoldfastError) -> Bool {
        let failure = hfp_claim_lock(claim, kind, start, count)
        if failure == 0 { return true }
        if failure == EAGAIN { return false }
        throw Location.error(failure, "locking", path + "-lock")
    }

    private static func claim(_ path: String, _ note: [UInt8]) throws(HoldfastError) -> OpaquePointer {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Location.error(errno, "opening", path) }
        var created: OpaquePointer?
        switch hfp_claim_create(UInt64(status.st_dev), UInt64(status.st_ino), &created) {
        case 0: return created!
        case EBUSY:
            throw HoldfastError(
                .busy, "\(path) is already open in this process: use that store, or close it first",
                detail: [("holder", .json(note.dropLast()))])
        case ECHILD:
            throw HoldfastError(
                .forked, "\(path) was open in the parent when this process was forked: open it in a program of its own")
        default: throw HoldfastError(.noMemory, "no memory is left to open \(path)")
        }
    }

    // MARK: The note

    /// Only a note for whoever waits: a full disk must not keep anybody from going on.
    private func writeNote() { _ = pwrite(descriptor, note, note.count, 0) }

    /// Who wrote the note, for messages.
    private var holder: LockHolder? { LockHolder(descriptor) }

    private var holderDetail: [(name: String, value: HoldfastError.DetailValue)] {
        holder.map { [("holder", .json($0.note))] } ?? []
    }

    private static func note(_ environment: Environment) -> [UInt8] {
        let since = environment.time.wallMilliseconds()
        return Array("{\"pid\":\(getpid()),\"program\":\"\(LockHolder.thisProgram())\",\"since\":\(since)}\n".utf8)
    }
}

extension UInt64 {
    /// The product, or the largest number.
    func multipliedClamped(by factor: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max >> 1 : Swift.min(product, .max >> 1)
    }
}
