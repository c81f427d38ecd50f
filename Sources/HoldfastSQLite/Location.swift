import CHoldfastPlatform
import HoldfastCore
internal import HoldfastEnvironment

/// The place of a store: an absolute path, so that a change of the working directory moves nothing, and what
/// stands there.
struct Location {
    let path: String
    let directory: String
    var exists: Bool

    var lockPath: String { path + "-lock" }

    /// What SQLite takes for parts of the database under a name, whatever database that is.
    static let companions = ["-journal", "-wal", "-shm"]
    var isDirectoryWritable: Bool { Self.allows(directory, W_OK) }

    /// Refuses what cannot hold a store, or not safely.
    ///
    /// A second name of the same file (a symbolic or hard link, or a file that is mounted by itself) would get a write-ahead log of its own, and reading
    /// one file through two logs damages it. Network file systems neither share memory between
    /// machines nor keep locks reliably. FUSE is refused too, because it does not tell what lies behind it.
    init(of path: String, allowUnsafe: Bool) throws(HoldfastError) {
        let (parent, name) = Self.split(path)
        guard !name.isEmpty, name != ".", name != ".." else {
            throw HoldfastError(.cannotOpen, "\"\(path)\" is a directory: give the path of a file in it")
        }
        guard let directory = Self.realPath(parent) else {
            throw HoldfastError(
                .cannotOpen,
                "the directory \(parent) cannot be reached (\(ResultCode.describe(errno))): create it first")
        }
        var resolved = directory == "/" ? "/" + name : directory + "/" + name
        var status = stat()
        var found = lstat(resolved, &status) == 0
        if !found && errno != ENOENT {
            throw HoldfastError(.cannotOpen, "\(resolved) cannot be reached (\(ResultCode.describe(errno)))")
        }
        if found && status.st_mode & S_IFMT == S_IFLNK {
            guard allowUnsafe else { throw Self.unsafe(resolved, "is a symbolic link") }
            guard let target = Self.realPath(resolved) else {
                throw HoldfastError(.cannotOpen, "\(resolved) is a symbolic link to nothing")
            }
            resolved = target
            found = stat(resolved, &status) == 0
        }
        if found {
            guard status.st_mode & S_IFMT != S_IFDIR else {
                throw HoldfastError(.cannotOpen, "\(resolved) is a directory: give the path of a file in it")
            }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw HoldfastError(.cannotOpen, "\(resolved) is no regular file")
            }
            if status.st_nlink > 1, !allowUnsafe, !Self.isOwnSecondName(resolved, status) {
                throw Self.unsafe(resolved, "has several names (hard links)")
            }
            if !allowUnsafe, hfplatform_is_mount(resolved) {
                throw HoldfastError(
                    .unsafeLocation,
                    "\(resolved) is mounted by itself, apart from the log beside it, and so may be damaged: mount its folder, "
                        + "or set \"allow_unsafe_location\"")
            }
        }
        self.path = resolved
        self.directory = Self.split(resolved).parent
        exists = found
        if !found { try requireNoPartOfAnother() }
        if !allowUnsafe, let kind = Self.networkFileSystem(self.directory) {
            throw Self.unsafe(resolved, "lies on a \(kind) file system")
        }
    }

    /// Whether its second name is one that nobody opens: under which an interrupted restore has kept it, or under which it was
    /// made by a copy that was interrupted when it had its name (see DatabaseCopy.swift).
    private static func isOwnSecondName(_ path: String, _ status: stat) -> Bool {
        status.st_nlink == 2
            && [DisplacedWAL.end, PartialFile.end].contains { end in
                var second = stat()
                return lstat(path + end, &second) == 0 && areSame(status, second)
            }
    }

    /// Refuses a WAL whose database is missing or empty: SQLite would delete it, and with it what it alone may hold. A
    /// creation that was cut short leaves an empty file, but no log yet.
    func checkWAL() throws(HoldfastError) {
        let wal = path + "-wal"
        // The WAL first: one that another process is just creating comes after its database has its first page.
        guard let bytes = try Self.sizeIfThere(wal), bytes > 0, try Self.sizeIfThere(path) ?? 0 == 0 else { return }
        throw HoldfastError(
            .corrupt,
            "\(wal) holds commits of a store whose file \(path) is \(exists ? "empty" : "missing"): put that file back, or "
                + "remove the log to begin anew")
    }

    /// Creates the file, empty; SQLite gives its other files the same mode. Without one that is 0644, less the umask, as
    /// SQLite itself does it.
    mutating func create(mode: UInt32?) throws(HoldfastError) {
        let descriptor = hfplatform_open(path, O_RDWR | O_CREAT | O_EXCL, mode.map { $0 & 0o600 } ?? Self.usualMode)
        if descriptor < 0 && -descriptor != EEXIST { throw Self.error(-descriptor, "creating", path) }
        if descriptor >= 0 {
            let failure = mode.map { fchmod(descriptor, mode_t($0)) == 0 ? 0 : errno } ?? 0
            close(descriptor)
            if failure != 0 {
                unlink(path)
                throw Self.error(failure, "creating", path)
            }
            // The entry of the new file must outlive a power cut as its content does.
            let parent = hfplatform_open(directory, O_RDONLY | O_DIRECTORY, 0)
            if parent >= 0 {
                let failure = hfplatform_sync(parent)
                close(parent)
                if failure != 0 && failure != EINVAL { throw Self.error(failure, "syncing", directory) }
            }
        }
        exists = true
    }

    /// Refuses a name under which something is, or beside which something lies that SQLite would read into what gets the
    /// name: a WAL of a store that is gone has commits of its own.
    func requireFree() throws(HoldfastError) {
        if try Self.sizeIfThere(path) != nil { throw taken(by: path) }
        try requireNoCompanions()
    }

    func requireNoCompanions() throws(HoldfastError) {
        for end in Self.companions where try Self.sizeIfThere(path + end) != nil { throw taken(by: path + end) }
    }

    /// Refuses a new file under a name that is kept for a part of the store beside it: whoever opens that store would take
    /// it for such a part, and write over it, or remove it.
    private func requireNoPartOfAnother() throws(HoldfastError) {
        for end in Self.companions + ["-lock"] where path.hasSuffix(end) {
            let store = String(path.dropLast(end.count))
            guard !store.hasSuffix("/"), try Self.sizeIfThere(store) != nil else { continue }
            throw HoldfastError(
                .cannotOpen, "\(path) would be taken for a part of the store \(store): choose another name")
        }
    }

    /// Refuses the name of a store whose file is gone, and which a process still has open: that would write beside what
    /// gets the name.
    func requireNotHeld() throws(HoldfastError) {
        if hfplatform_is_locked(lockPath, 0, StoreLock.queueStart) {
            throw HoldfastError(
                .busy, "\(path) is open in a process, although there is no such file: close it there first")
        }
    }

    func taken(by file: String) -> HoldfastError {
        HoldfastError(
            .exists,
            file == path
                ? "there is a file at \(path) already: choose another name, or remove it first"
                : "\(file) is left of another store, whose commits would be read into a new \(path): choose another name, "
                    + "or remove that file first")
    }

    /// Says clearly what the file's permissions do not allow.
    func checkPermissions(readOnly: Bool) throws(HoldfastError) {
        guard Self.allows(path, R_OK) else {
            throw HoldfastError(.cannotOpen, "\(path) cannot be opened (\(ResultCode.describe(errno)))")
        }
        if readOnly { return }
        for place in [path, directory] where !Self.allows(place, W_OK) {
            // Nothing is taken for forbidden which only could not be looked at.
            guard [EACCES, EPERM, EROFS].contains(errno) else { throw Self.error(errno, "looking at", place) }
            throw HoldfastError(
                .readOnly,
                "\(place) cannot be written (\(ResultCode.describe(errno))): open with \"read_only\": true to read it")
        }
    }

    static func error(_ systemError: Int32, _ doing: String, _ path: String) -> HoldfastError {
        let status: Status =
            switch systemError {
            case EROFS, EACCES, EPERM: .readOnly
            case ENOSPC, EDQUOT: .full
            case ENOMEM, EMFILE, ENFILE: .noMemory
            case EIO: .io
            case ELOOP: .unsafeLocation
            default: .cannotOpen
            }
        return HoldfastError(status, "\(doing) \(path) failed (\(ResultCode.describe(systemError)))")
    }

    private static func unsafe(_ path: String, _ reason: String) -> HoldfastError {
        HoldfastError(
            .unsafeLocation,
            "\(path) \(reason), where a store may be damaged: choose another place, or set \"allow_unsafe_location\"")
    }

    private static func allows(_ path: String, _ mode: Int32) -> Bool {
        faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0
    }

    /// Whether the permissions of a file and of its directory allow that it is written.
    static func isWritable(_ path: String) -> Bool { allows(path, W_OK) && allows(split(path).parent, W_OK) }

    /// In bytes, nil where there is no such file.
    static func size(_ path: String) -> Int? { (try? sizeIfThere(path)) ?? nil }

    /// The same where it matters that nothing is taken for missing which only could not be looked at.
    static func sizeIfThere(_ path: String) throws(HoldfastError) -> Int? {
        var status = stat()
        return try look(at: path, &status, followingLinks: false) ? Int(status.st_size) : nil
    }

    /// stat(2) or lstat(2): whether there is a file of this name, with the same care.
    static func look(
        at path: String, _ status: inout stat, followingLinks: Bool = true
    ) throws(HoldfastError) -> Bool {
        if (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw error(errno, "looking for", path) }
        return false
    }

    /// SQLITE_DEFAULT_FILE_PERMISSIONS.
    static let usualMode: UInt32 = 0o644

    static func areSame(_ one: stat, _ other: stat) -> Bool {
        one.st_ino == other.st_ino && one.st_dev == other.st_dev
    }

    static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    static func split(_ path: String) -> (parent: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let name = String(path[path.utf8.index(after: slash)...])
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    private static func networkFileSystem(_ directory: String) -> String? {
        networkFileSystems[hfplatform_file_system(directory)]
    }

    /// By the numbers of statfs(2).
    private static let networkFileSystems: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFE53_4D42: "SMB", 0xFF53_4D42: "CIFS", 0x6573_5546: "FUSE",
        0x0102_1997: "9P", 0x00C3_6400: "Ceph", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda",
        0x4750_4653: "GPFS", 0x0BD0_0BD0: "Lustre", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2", 0x564C: "NCP",
    ]
}
