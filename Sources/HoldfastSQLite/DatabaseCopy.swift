import CHoldfastPlatform
import CSQLite
import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// Makes a new file that holds one committed state of a store, as a store of its own: with an incarnation of its own,
/// closed cleanly, and without side files. It is written under another name, synced, and renamed when it is complete, so
/// that a copy that was cut short is never taken for one. What is not published is discarded.
final class DatabaseCopy {
    private let target: Location
    private let file: PartialFile
    /// Whether what was made has the name.
    private(set) var isPublished = false
    private let epoch = hfplatform_fork_epoch()

    /// The new file gets the mode of that at `model`, with which its owner may write it too where `isWritable`.
    init(to target: Location, like model: String, isWritable: Bool = false) throws(HoldfastError) {
        self.target = target
        file = try PartialFile(for: target.path, like: model, isWritable: isWritable)
    }

    // In a forked child the file is the parent's.
    deinit { if !isPublished && epoch == hfplatform_fork_epoch() { file.discard() } }

    /// Where the pages go.
    var path: String { file.path }

    /// When the pages are there: makes a store of them, which was closed at this sequence, and has it on the disk.
    func complete(_ head: CommitSequence, incarnation: [UInt8], _ limits: Limits) throws(HoldfastError) {
        try settle(head, incarnation)
        let path = file.path
        try Interrupt.whileAsking(limits) { () throws(HoldfastError) in try Self.sync(path, O_RDWR) }
    }

    /// Gives what was made its name, which nothing has, nor that of a file beside it. Where this throws nothing has it.
    func publish() throws(HoldfastError) {
        try target.requireFree()
        defer { if isPublished { file.settleMode(target.path) } }
        let failure = hfplatform_publish(file.path, target.path, HFPLATFORM_BY_RENAME)
        if failure == EEXIST { throw target.taken(by: target.path) }
        if failure != 0 { throw Location.error(failure, "writing", target.path) }
        do throws(HoldfastError) {
            try Self.sync(target.directory, O_RDONLY | O_DIRECTORY)
        } catch {
            unlink(target.path)
            throw error
        }
        isPublished = true
    }

    /// Puts what was made in the place of a file that is whole by itself. Where this throws that is there as before, unless
    /// `isPublished` says that it could not be brought back.
    func replace() throws(HoldfastError) {
        defer { if isPublished { file.settleMode(target.path) } }
        // Two files that change names can change them back.
        let mode = PartialFile.mark(target.path)
        if hfplatform_exchange(file.path, target.path) == 0 {
            isPublished = true
            try syncDirectory {
                guard hfplatform_exchange(file.path, target.path) == 0 else { return false }
                if let mode { _ = chmod(target.path, mode) }
                return true
            }
            unlink(file.path)
            return
        }
        if let mode { _ = chmod(target.path, mode) }
        let previous = try keepPrevious()
        guard rename(file.path, target.path) == 0 else {
            let failure = errno
            if let previous { unlink(previous) }
            throw Location.error(failure, "replacing", target.path)
        }
        isPublished = true
        try syncDirectory { previous.map { rename($0, target.path) == 0 } ?? false }
        if let previous { unlink(previous) }
    }

    /// What was replaced is brought back by `takeBack`, if it can be, where that might not outlive a power cut.
    private func syncDirectory(orElse takeBack: () -> Bool) throws(HoldfastError) {
        do throws(HoldfastError) {
            try Self.sync(target.directory, O_RDONLY | O_DIRECTORY)
        } catch {
            isPublished = !takeBack()
            throw error
        }
    }

    /// Gives the file that is to be replaced a second name, under which it stays. Nil where the file system knows none.
    private func keepPrevious() throws(HoldfastError) -> String? {
        let name = target.path + DisplacedWAL.end
        // Left of an interrupted restore: the same file, or one that was replaced before.
        unlink(name)
        if link(target.path, name) == 0 { return name }
        let failure = errno
        switch failure {
        case EPERM, EMLINK, ENOSYS, ENOTSUP, EOPNOTSUPP: return nil
        default: throw Location.error(failure, "keeping", target.path)
        }
    }

    /// Holds the copy against SQLite's rules for a sound database.
    func check(_ limits: Limits, at pace: BackupPace?) throws(HoldfastError) {
        let connection = try Connection(path: file.path, mode: .immutable)
        connection.pace = pace
        let problems = try Interrupt.whileAsking(limits, stop: connection.interrupt) { () throws(HoldfastError) in
            try connection.endingWhereStopped { () throws(HoldfastError) in try connection.problems(limit: 1) }
        }
        guard let first = problems.first else { return }
        throw HoldfastError(
            .corrupt, "\(target.path) is not written, because what was copied is damaged: \(first)")
    }

    /// Makes the copy a store of its own, which was closed at this sequence.
    private func settle(_ head: CommitSequence, _ incarnation: [UInt8]) throws(HoldfastError) {
        let copy = try Connection(path: file.path, mode: .readWrite)
        // Alone, so that it needs no shared memory, which a file system of another machine does not have.
        try copy.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF", "writing")
        try copy.run(.beginImmediate, "writing")
        try copy.setIncarnation(incarnation)
        try copy.setMark(.reserved, Int64(clamping: head))
        try copy.run(.commit, "writing")
        copy.setCheckpointOnClose(true)
        guard try !copy.checkpoint(.truncate).isBlocked else {
            throw HoldfastError(.busy, "\(file.path) is in use by another program: choose another place")
        }
        copy.close()
        // SQLite leaves the WAL's file behind where locks are exclusive.
        file.removeCompanions()
    }

    static func sync(_ path: String, _ flags: Int32) throws(HoldfastError) {
        let descriptor = hfplatform_open(path, flags, 0)
        if descriptor < 0 { throw Location.error(-descriptor, "syncing", path) }
        // Not under SQLite's eyes: nobody has the copy open.
        defer { close(descriptor) }
        // A directory on a file system that cannot sync one is as durable as it gets.
        let failure = hfplatform_sync(descriptor)
        if failure != 0 && failure != EINVAL { throw Location.error(failure, "syncing", path) }
    }

    static let cancelled = HoldfastError(.cancelled, "nothing was written: the progress callback said to stop")
}
