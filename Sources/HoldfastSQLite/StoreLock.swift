import CHoldfastPlatform
import HoldfastCore
internal import HoldfastEnvironment
import Synchronization

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
/// Behind it stands, while the store is open, which files the processes that have it open share, see `noteFiles`, and
/// whether a sync of one of them has failed, see `noteFailedSync`.
///
/// The file stays when the store is closed. Whoever is alone at the door may remove it all the same: who waits there
/// looks, once it is open, whether the name still leads to what it has locked. Whoever opens for reading takes no part:
/// SQLite's own locks are enough for it.
final class StoreLock: Sendable {
    static let queueStart: Int64 = 2

    private static let presence: Int64 = 0
    private static let door: Int64 = 1

    private let path: String
    private let time: any TimeSource
    private let limits: Limits
    private let note: [UInt8]
    // nonisolated(unsafe): set once; the platform's functions lock the table behind it.
    private nonisolated(unsafe) let claim: OpaquePointer
    /// -1 for a store that is only read.
    private let descriptor: Int32
    private let epoch = hfplatform_fork_epoch()
    /// Whether this object has made the file.
    private let isCreator: Bool
    /// The file that is claimed, nil where there is none yet.
    private let claimed: stat?
    /// Whether this process keeps others out, after `enter` has failed.
    private let keepsOthersOut = Atomic(false)

    /// Enters the file into this process's table and, for writing, opens the sidecar file, which gets the file's mode.
    /// Where there is no file yet, the sidecar file is entered.
    init(_ location: Location, readOnly: Bool, environment: Environment) throws(HoldfastError) {
        path = location.path
        time = environment.time
        limits = environment.limits
        let note = Self.note(environment)
        self.note = note
        var status = stat()
        let isThere = try Location.look(at: path, &status)
        claimed = isThere ? status : nil
        let busy = {
            HoldfastError(
                .busy, "\(location.path) is already open in this process: use that store, or close it first",
                detail: [("holder", .json(note.dropLast()))])
        }
        let claim = isThere ? try Self.claim(status, path, orBusy: busy) : nil
        guard !readOnly, let sidecar = try Self.openSidecar(location, beside: claimed, claim) else {
            guard let claim else { throw Location.error(ENOENT, "opening", path) }
            self.claim = claim
            descriptor = -1
            isCreator = false
            return
        }
        (descriptor, isCreator) = sidecar
        do throws(HoldfastError) {
            guard fstat(descriptor, &status) == 0 else { throw Location.error(errno, "opening", location.lockPath) }
            self.claim = if let claim { claim } else { try Self.claim(status, path, orBusy: busy) }
        } catch {
            hfplatform_close_unshared(descriptor)
            if let claim { hfplatform_claim_free(claim) }
            throw error
        }
        hfplatform_claim_attach(self.claim, descriptor)
    }

    /// The descriptor, and whether the file was made. Where this throws, the claim is gone.
    private static func openSidecar(
        _ location: Location, beside database: stat?, _ claim: OpaquePointer?
    ) throws(HoldfastError) -> (Int32, Bool)? {
        let path = location.lockPath
        while true {
            let open = hfplatform_open_unshared(path, O_RDWR, 0)
            if open >= 0 {
                // Made by another version, under which it was its owner's alone.
                var status = stat()
                if let database, fstat(open, &status) == 0, status.st_uid == geteuid() {
                    fchmod(open, database.st_mode & 0o777)
                }
                return (open, false)
            }
            let made = open == -ENOENT ? hfplatform_open_unshared(path, O_RDWR | O_CREAT | O_EXCL, 0o600) : open
            if made == -EEXIST { continue }
            guard made >= 0 else {
                if let claim { hfplatform_claim_free(claim) }
                throw Location.error(-made, "opening", path)
            }
            // As SQLite does for its own: with the database's mode and, where this process may, its owner.
            if let database {
                if geteuid() == 0 { _ = fchown(made, database.st_uid, database.st_gid) }
                fchmod(made, database.st_mode & 0o777)
            }
            return (made, true)
        }
    }

    deinit { hfplatform_claim_free(claim) }

    // MARK: Opening and closing

    /// Waits at the door, and keeps it until `enter`. Answers whether no other process has the store open.
    func knock(timeoutMilliseconds: UInt64) throws(HoldfastError) -> Bool {
        guard try waitForDoor(timeoutMilliseconds.multipliedClamped(by: 1_000_000)) else {
            throw HoldfastError(
                .busy,
                "\(path) is just being opened, recovered or closed by \(holder?.name ?? "another process"): wait for it, "
                    + "or raise lock_timeout_ms", detail: holderDetail)
        }
        writeNote()
        if try set(HFPLATFORM_EXCLUSIVE, Self.presence) { return true }
        guard try set(HFPLATFORM_SHARED, Self.presence) else {
            throw HoldfastError(.busy, "\(path) is held by a process that does not share it", detail: holderDetail)
        }
        return false
    }

    /// Behind the door: whether the names still lead to the files of this object. Whoever had the door before may have
    /// removed or replaced them.
    func isCurrent() throws(HoldfastError) -> Bool {
        var status = stat()
        var own = stat()
        guard fstat(descriptor, &own) == 0 else { throw Location.error(errno, "looking at", path + "-lock") }
        guard try Location.look(at: path + "-lock", &status), Location.areSame(status, own) else { return false }
        let isThere = try Location.look(at: path, &status)
        return claimed.map { isThere && Location.areSame($0, status) } ?? !isThere
    }

    /// Behind the door, and alone: removes the sidecar file if this object has made it.
    func removeIfMade() { if isCreator, (try? isCurrent()) == true { unlink(path + "-lock") } }

    /// Lets others open and close the store beside this process. Where that fails they are kept out: were this process's
    /// presence given up, the next one would take itself for the first.
    func enter() throws(HoldfastError) {
        keepsOthersOut.store(true, ordering: .relaxed)
        _ = try set(HFPLATFORM_SHARED, Self.presence)
        _ = try set(HFPLATFORM_UNLOCKED, Self.door)
        keepsOthersOut.store(false, ordering: .relaxed)
    }

    /// Lets others in after it has failed, which is tried until it succeeds.
    func enterIfNeeded() { if keepsOthersOut.load(ordering: .relaxed) { try? enter() } }

    /// Whether this process is the last that has the store open. From here on nobody else opens it until `enter`, also
    /// where this throws, or until this object is gone.
    func isLast() throws(HoldfastError) -> Bool {
        guard try waitForDoor(UInt64(limits.closingDoor)) else { return false }
        return try set(HFPLATFORM_EXCLUSIVE, Self.presence)
    }

    private func waitForDoor(_ nanoseconds: UInt64) throws(HoldfastError) -> Bool {
        let deadline = time.monotonicNanoseconds() &+ nanoseconds
        while try !set(HFPLATFORM_EXCLUSIVE, Self.door) {
            if time.monotonicNanoseconds() >= deadline { return false }
            try Interrupt.look()
            usleep(microseconds(limits.doorPoll))
        }
        return true
    }

    // MARK: Locks

    /// Sets this process's lock on bytes of the file, without waiting. Answers whether no other process is in the way.
    func set(_ kind: hfplatform_lock_kind, _ start: Int64, count: Int64 = 1) throws(HoldfastError) -> Bool {
        let failure = hfplatform_claim_lock(claim, kind, start, count)
        if failure == 0 { return true }
        if failure == EAGAIN { return false }
        throw Location.error(failure, "locking", path + "-lock")
    }

    /// Enters a file into this process's table.
    static func claim(
        _ file: stat, _ path: String, orBusy busy: () -> HoldfastError
    ) throws(HoldfastError) -> OpaquePointer {
        var created: OpaquePointer?
        switch hfplatform_claim_create(UInt64(file.st_dev), UInt64(file.st_ino), &created) {
        case 0: return created!
        case EBUSY: throw busy()
        case ECHILD:
            throw HoldfastError(
                .forked, "\(path) was open in the parent when this process was forked: open it in a program of its own"
            )
        default: throw HoldfastError(.noMemory, "no memory is left to open \(path)")
        }
    }

    // MARK: The files that are shared

    /// Where it stands which files they are: behind any note.
    private static let filesOffset: off_t = 512

    /// By the first, behind the door: nobody has opened them yet. It writes the WAL anew, so a failed sync is forgotten
    /// too.
    func forgetFiles() { _ = ftruncate(descriptor, Self.filesOffset) }

    /// By the first, behind the door: notes which files it has opened, for those who come. SQLite opens them by name, and
    /// whoever found others there would share neither the locks nor the index of the WAL.
    func noteFiles(_ files: StoreFiles) {
        let line = Array("\(files.identity)\n".utf8)
        _ = pwrite(descriptor, line, line.count, Self.filesOffset)
    }

    /// By whoever is not the first, behind the door and before SQLite opens anything.
    func checkFiles() throws(HoldfastError) {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = pread(descriptor, &bytes, bytes.count, Self.filesOffset)
        let noted = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }
        let there = StoreFiles.identity(path)
        // Without a note, which a full disk does not take, it is known at least that they must be there.
        if let there, noted.isEmpty || noted.elementsEqual(there.utf8) { return }
        throw HoldfastError(
            .io,
            "\(path), or its -wal or -shm file, was deleted, moved or replaced while "
                + "\(holder?.name ?? "another process") has the store open: close it there first", detail: holderDetail)
    }

    // MARK: Failed syncs

    /// Where the newest stands: behind the files. It is not synced, for it says nothing to those who come after a power cut.
    private static let failureOffset: off_t = 1024

    /// Tells all processes that have the store open, and those that open it while one of them has, that a sync has failed.
    func noteFailedSync() {
        guard epoch == hfplatform_fork_epoch() else { return }
        // Differs from each that was there before, and is not 0.
        var failure = (UInt64(getpid()) << 40 ^ time.monotonicNanoseconds()) | 1
        _ = pwrite(descriptor, &failure, 8, Self.failureOffset)
    }

    /// The newest of whatever process, 0 where there was none since the first has opened the store.
    var failedSync: UInt64 {
        var failure: UInt64 = 0
        guard descriptor >= 0, pread(descriptor, &failure, 8, Self.failureOffset) == 8 else { return 0 }
        return failure
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
