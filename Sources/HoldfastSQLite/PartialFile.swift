import CHoldfastPlatform
import HoldfastCore
internal import HoldfastEnvironment

/// The file in which a copy is made before it gets its name: `<path>-partial`.
///
/// While it is made, a lock on it keeps everybody else from taking it for what a killed process has left; that is begun
/// anew by the next. The lock is on its first byte, which SQLite, whose locks lie far behind, does not use. What was left is
/// known by its mode, which has the sticky bit from the file's first moment until it has its name: on a file that means
/// nothing else. Any other file of the name is somebody's, and stays.
final class PartialFile {
    static let end = "-partial"

    let path: String
    private let claim: OpaquePointer
    /// What it gets with its name.
    private let mode: mode_t

    /// With the mode and, where this process may, the owner of the file at `model`. Until it has its name, or for good where
    /// `isWritable`, its owner may read and write it all the same: what it is like may be kept from being written.
    init(for target: String, like model: String, isWritable: Bool) throws(HoldfastError) {
        path = target + Self.end
        var status = stat()
        guard stat(model, &status) == 0 else { throw Location.error(errno, "opening", model) }
        mode = status.st_mode & 0o777 | (isWritable ? Self.ownersMode : 0)
        var own = stat()
        var previous = stat()
        // What is to be replaced may be a copy that was interrupted when it had its name, and have this one too.
        if try Self.isNamed(target, &own), try Self.isNamed(path, &previous), Location.areSame(own, previous) {
            unlink(path)
        }
        while true {
            if let claim = try Self.claimed(path) {
                self.claim = claim
                break
            }
        }
        do throws(HoldfastError) {
            if geteuid() == 0 { _ = chown(path, status.st_uid, status.st_gid) }
            let writable = mode | Self.ownersMode
            // FAT refuses to set the mark.
            guard truncate(path, 0) == 0, chmod(path, writable | Self.mark) == 0 || chmod(path, writable) == 0 else {
                throw Location.error(errno, "creating", path)
            }
        } catch {
            discard()
            throw error
        }
        removeCompanions()
    }

    /// Lets go of the file, under whatever name it is now.
    deinit { hfplatform_claim_free(claim) }

    /// To be called when it has its name: what a killed process leaves is known by the mode, and can be written by the next.
    func settleMode(_ path: String) { _ = chmod(path, mode) }

    /// Marks a file that is about to get the name for a moment, so that it is no obstacle to the next if this process is killed
    /// then. Answers its mode, which it is to have where it keeps its own name; nil where it is not marked.
    static func mark(_ path: String) -> mode_t? {
        var status = stat()
        guard stat(path, &status) == 0, chmod(path, status.st_mode & 0o7777 | mark) == 0 else { return nil }
        return status.st_mode & 0o7777
    }

    private static let ownersMode: mode_t = 0o600
    private static let mark: mode_t = 0o1000

    func discard() {
        unlink(path)
        removeCompanions()
    }

    func removeCompanions() { for end in Location.companions { unlink(path + end) } }

    /// The file, locked; nil where it has changed meanwhile.
    private static func claimed(_ path: String) throws(HoldfastError) -> OpaquePointer? {
        var status = stat()
        let isThere = try isNamed(path, &status)
        if isThere && status.st_mode & S_IFMT != S_IFREG {
            throw HoldfastError(.exists, "\(path) is in the way and no regular file: remove it first")
        }
        // What was ever opened for writing has one, a copy that was cut short has none.
        if isThere, try Location.sizeIfThere(path + "-lock") != nil {
            throw HoldfastError(.exists, "\(path) is in the way, a store of its own: move it away first")
        }
        // Where the mark could not be kept, there is at least nothing to lose in an empty file.
        if isThere && status.st_mode & mark == 0 && status.st_size > 0 {
            throw HoldfastError(
                .exists,
                "\(path) is in the way, and not known to be left of a copy that was cut short: move it away, or remove it"
            )
        }
        // What is there is claimed before it is opened: to close it would take SQLite's locks from a copy that this
        // process is making.
        var claim = isThere ? try StoreLock.claim(status, path, orBusy: { busy(path) }) : nil
        let descriptor = hfplatform_open_unshared(
            path, O_RDWR | (isThere ? 0 : O_CREAT | O_EXCL), UInt32(ownersMode | mark))
        guard descriptor >= 0 else {
            if let claim { hfplatform_claim_free(claim) }
            if -descriptor == (isThere ? ENOENT : EEXIST) { return nil }
            throw Location.error(-descriptor, "creating", path)
        }
        var opened = stat()
        do throws(HoldfastError) {
            guard fstat(descriptor, &opened) == 0 else { throw Location.error(errno, "looking at", path) }
            if claim == nil { claim = try StoreLock.claim(opened, path, orBusy: { busy(path) }) }
        } catch {
            if !isThere { unlink(path) }
            hfplatform_close_unshared(descriptor)
            if let claim { hfplatform_claim_free(claim) }
            throw error
        }
        hfplatform_claim_attach(claim, descriptor)
        let failure = hfplatform_claim_lock(claim, HFPLATFORM_EXCLUSIVE, 0, 1)
        do throws(HoldfastError) {
            if failure == EAGAIN { throw busy(path) }
            if failure != 0 { throw Location.error(failure, "locking", path) }
            var named = stat()
            if try isNamed(path, &named), Location.areSame(named, opened), !isThere || Location.areSame(status, opened)
            {
                return claim
            }
        } catch {
            // Unless somebody else has it by now.
            if !isThere && failure != EAGAIN { unlink(path) }
            hfplatform_claim_free(claim)
            throw error
        }
        hfplatform_claim_free(claim)
        return nil
    }

    /// lstat(2). What only could not be looked at is not taken for missing, or this would look for ever.
    private static func isNamed(_ path: String, _ status: inout stat) throws(HoldfastError) -> Bool {
        if lstat(path, &status) == 0 { return true }
        guard errno == ENOENT else { throw Location.error(errno, "looking for", path) }
        return false
    }

    private static func busy(_ path: String) -> HoldfastError {
        HoldfastError(.busy, "\(path) is just being written: wait for it, or choose another name")
    }
}
