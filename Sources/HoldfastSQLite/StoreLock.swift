import CHoldfastPlatform
import Glibc
import HoldfastCore

/// Keeps a store to one process at a time, and to one open in it: a lock on the sidecar file `<path>-lock`.
///
/// The file's content names the holder and means something only while the lock is held:
///
///     {"pid":4711,"program":"music-server","since":1732147200000}
///
/// The lock lies on the first byte; the bytes behind it are free for a queue of several processes. The file stays when
/// the store is closed, because removing it could take a lock from under another process that is just opening it.
/// Whoever opens for reading shares the lock with others who do.
final class StoreLock: Sendable {
    // nonisolated(unsafe): set once; the platform's functions lock the table behind it.
    private nonisolated(unsafe) let claim: OpaquePointer

    init(_ location: Location, options: SQLiteOptions, environment: Environment) throws(HoldfastError) {
        var status = stat()
        guard stat(location.path, &status) == 0 else { throw Location.error(errno, "opening", location.path) }
        var created: OpaquePointer?
        switch hfp_claim_create(UInt64(status.st_dev), UInt64(status.st_ino), &created) {
        case 0: claim = created!
        case EBUSY:
            throw HoldfastError(
                .busy, "\(location.path) is already open in this process: use that store, or close it first",
                detail: [("holder", .json(Array(Self.note(environment).utf8)))])
        case ECHILD:
            throw HoldfastError(
                .forked,
                "\(location.path) was open in the parent when this process was forked: open it in a program of its own")
        default: throw HoldfastError(.noMemory, "no memory is left to open \(location.path)")
        }
        // Where this throws, the claim goes with the object, whose deinit runs because it is complete.
        try lock(location, options, environment)
    }

    deinit { hfp_claim_free(claim) }

    private func lock(
        _ location: Location, _ options: SQLiteOptions, _ environment: Environment
    ) throws(HoldfastError) {
        let flags = options.readOnly ? O_RDONLY : O_RDWR | O_CREAT
        let descriptor = hfp_open_unshared(location.lockPath, flags, 0o600)
        if descriptor < 0 {
            // Reading where no writer has ever been, or can be: there is nothing to hold off.
            if options.readOnly && [ENOENT, EACCES].contains(-descriptor) { return }
            throw Location.error(-descriptor, "opening", location.lockPath)
        }
        let deadline =
            environment.time.monotonicNanoseconds() &+ options.lockTimeoutMilliseconds.multipliedClamped(by: 1_000_000)
        while true {
            let failure = hfp_claim_lock(claim, descriptor, !options.readOnly)
            if failure == 0 { break }
            if failure == EAGAIN && environment.time.monotonicNanoseconds() < deadline {
                usleep(5_000)
                continue
            }
            let holder = Self.holder(descriptor)
            hfp_close_unshared(descriptor)
            guard failure == EAGAIN else { throw Location.error(failure, "locking", location.lockPath) }
            throw HoldfastError(
                .busy,
                "\(location.path) is held by \(holder.map { "process \($0.pid) (\($0.program))" } ?? "another process"): "
                    + "close it there, or raise lock_timeout_ms",
                detail: holder.map { [("holder", .json(Array($0.note.utf8)))] } ?? [])
        }
        if !options.readOnly {
            // Only a note for whoever is refused: a full disk must not keep the store from opening.
            let note = Array((Self.note(environment) + "\n").utf8)
            if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, note, note.count, 0) }
        }
    }

    private static func note(_ environment: Environment) -> String {
        "{\"pid\":\(getpid()),\"program\":\"\(program())\",\"since\":\(environment.time.wallMilliseconds())}"
    }

    /// The process's name, of which only harmless characters are kept.
    private static func program() -> String {
        let descriptor = hfp_open("/proc/self/comm", O_RDONLY, 0)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        return String(decoding: content(descriptor, limit: 64).filter(isHarmless), as: UTF8.self)
    }

    /// Who holds the lock, if the file says so in the form in which this library writes it.
    private static func holder(_ descriptor: Int32) -> (pid: String, program: String, note: String)? {
        let text = String(decoding: content(descriptor, limit: 256), as: UTF8.self)
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count == 9, parts[1] == "pid", parts[3] == "program", parts[7] == "since",
            let pid = UInt32(parts[2].dropFirst().dropLast()), let since = UInt64(parts[8].dropFirst().dropLast(2)),
            parts[5].utf8.allSatisfy(isHarmless)
        else { return nil }
        let program = String(parts[5])
        return ("\(pid)", program, "{\"pid\":\(pid),\"program\":\"\(program)\",\"since\":\(since)}")
    }

    private static func content(_ descriptor: Int32, limit: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = pread(descriptor, &bytes, limit, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    private static func isHarmless(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: " "), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}

extension UInt64 {
    /// The product, or the largest number.
    func multipliedClamped(by factor: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max >> 1 : Swift.min(product, .max >> 1)
    }
}
