import CHoldfastPlatform
internal import HoldfastCore
public import HoldfastEnvironment
public import HoldfastStorage

extension SQLiteStorage {
    /// Makes a store at `path` from a backup, or from any store that nobody changes meanwhile. What is there is
    /// replaced where `replaces`, once the copy is complete, sound and on the disk; no process may have it open.
    ///
    /// The store gets a new incarnation, so that a position in the stream of the lost one is not taken for one of this.
    public static func restore(
        from backup: String, to path: String, replaces: Bool, options: SQLiteOptions, environment: Environment,
        _ progress: Progress
    ) throws(HoldfastError) {
        guard try Location.sizeIfThere(backup) != nil else {
            throw HoldfastError(.cannotOpen, "there is no backup at \(backup): check the path")
        }
        let source = try SQLiteStorage.open(path: backup, options: forReading(options), environment: environment)
        var location = try Location(of: path, allowUnsafe: options.allowUnsafeLocation)
        if !replaces { try location.requireFree() }
        let (lock, isAlone) = try enter(location, options, environment)
        do throws(HoldfastError) {
            guard isAlone else {
                throw HoldfastError(.busy, "\(location.path) is open in another process: close it there first")
            }
            // Whoever had the door before may have made it.
            location.exists = try Location.sizeIfThere(location.path) != nil
            let copy = try DatabaseCopy(
                to: location, like: location.exists ? location.path : source.location, isWritable: !location.exists)
            _ = try source.make(copy, progress)
            let wal = replaces ? try DisplacedWAL(of: location) : nil
            do throws(HoldfastError) {
                try put(copy, at: location, replaces: replaces)
            } catch {
                // Beside another store's file it would be read into that.
                if !copy.isPublished { wal?.putBack() }
                throw error
            }
            wal?.discard()
        } catch {
            if !location.exists { lock.removeIfMade() }
            throw error
        }
    }

    /// Who opens the store meanwhile lays an empty file there before it waits at the door. That is replaced in any case.
    private static func put(_ copy: DatabaseCopy, at location: Location, replaces: Bool) throws(HoldfastError) {
        func mayBeReplaced() throws(HoldfastError) -> Bool {
            try Location.sizeIfThere(location.path).map { replaces || $0 == 0 } ?? false
        }
        if try !mayBeReplaced() {
            do throws(HoldfastError) {
                return try copy.publish()
            } catch  where error.status == .exists {
                guard try mayBeReplaced() else { throw error }
            }
        }
        try location.requireNoCompanions()
        try copy.replace()
    }

    private static func forReading(_ options: SQLiteOptions) -> SQLiteOptions {
        var options = options
        options.readOnly = true
        options.isUnchanging = true
        return options
    }
}

/// The WAL, or the rollback journal, of a store that is about to be replaced. Its commits must not be read into the new
/// one, and are part of the old one as long as that is there. So they are first brought into the old file, which is whole
/// by itself then. Only where that cannot be done, because the file is damaged or missing, what holds them is put aside,
/// under its name with "-replaced" behind it, and put back if the replacing fails.
struct DisplacedWAL {
    private let location: Location
    private var aside: [String] = []

    /// By whoever has the store to itself.
    init(of location: Location) throws(HoldfastError) {
        self.location = location
        try bringIn()
        do throws(HoldfastError) {
            for end in Location.companions {
                let file = location.path + end
                guard let size = try Location.sizeIfThere(file) else { continue }
                // An empty WAL has nothing, and the index is made of the WAL.
                if size == 0 || end == "-shm" {
                    guard unlink(file) == 0 else { throw Location.error(errno, "removing", file) }
                    continue
                }
                let failure = hfplatform_publish(file, file + Self.end, HFPLATFORM_BY_RENAME)
                if failure == EEXIST {
                    throw HoldfastError(
                        .exists,
                        "\(file + Self.end) is left of an interrupted restore and may hold commits: move it away")
                }
                if failure != 0 { throw Location.error(failure, "moving", file) }
                aside.append(file)
            }
            // After a power cut the old WAL must not lie beside the new file.
            try DatabaseCopy.sync(location.directory, O_RDONLY | O_DIRECTORY)
        } catch {
            putBack()
            throw error
        }
    }

    static let end = "-replaced"

    /// SQLite reads a WAL, or a journal, when it opens the database, and removes it when the last connection goes.
    private func bringIn() throws(HoldfastError) {
        // With a file that it takes for an empty database SQLite throws the WAL away.
        var hasCompanions = false
        for end in Location.companions where try Location.sizeIfThere(location.path + end) ?? 0 > 0 {
            hasCompanions = true
        }
        guard hasCompanions, try Location.sizeIfThere(location.path) ?? 0 >= 512 else { return }
        do throws(HoldfastError) {
            let old = try Connection(path: location.path, mode: .readWrite)
            old.setCheckpointOnClose(true)
            _ = try old.number("SELECT count(*) FROM sqlite_schema", "replacing")
            let (_, _, isBlocked) = try old.checkpoint(.truncate)
            if isBlocked { throw Self.inUse(location.path) }
            old.close()
            // The last connection takes them with it: somebody else has one, who would go on with files without a name.
            for end in ["-wal", "-shm"] where Location.size(location.path + end) != nil {
                throw Self.inUse(location.path)
            }
        } catch {
            switch error.status {
            case .corrupt, .notAStore: break
            case .busy: throw Self.inUse(location.path)
            default: throw error
            }
        }
    }

    private static func inUse(_ path: String) -> HoldfastError {
        HoldfastError(.busy, "\(path) is in use by another program: end that first")
    }

    func putBack() { for file in aside { _ = hfplatform_publish(file + Self.end, file, HFPLATFORM_BY_RENAME) } }

    func discard() { for file in aside { unlink(file + Self.end) } }
}
