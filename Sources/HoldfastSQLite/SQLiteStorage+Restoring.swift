public import HoldfastCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

extension SQLiteStorage {
    /// Makes a store at `path` from a backup, or from any store that nobody changes meanwhile. What is there is
    /// replaced where `replaces`, once the copy is complete, sound and on the disk; no process may have it open.
    ///
    /// The store gets a new incarnation, so that a position in the stream of the lost one is not taken for one of this.
    public static func restore(
        from backup: String, to path: String, replaces: Bool, options: SQLiteOptions, environment: Environment,
        _ progress: Progress
    ) throws(HoldfastError) {
        let source = try SQLiteStorage.open(path: backup, options: forReading(options), environment: environment)
        var location = try Location(of: path, allowUnsafe: options.allowUnsafeLocation)
        let wasThere = location.exists
        guard replaces || !wasThere else {
            throw HoldfastError(
                .exists, "there is a file at \(location.path) already: restore elsewhere, or allow \"replace\"")
        }
        // The lock is on a file of the store's name, so it must be there.
        if !wasThere { try location.create() }
        do throws(HoldfastError) {
            let lock = try StoreLock(location, readOnly: false, environment: environment)
            guard try lock.knock(timeoutMilliseconds: options.lockTimeoutMilliseconds) else {
                throw HoldfastError(.busy, "\(location.path) is open in another process: close it there first")
            }
            let copy = DatabaseCopy(to: location.path)
            _ = try source.make(copy, progress)
            do throws(HoldfastError) {
                try copy.check()
            } catch {
                copy.discard()
                throw error
            }
            // A log of what was there would be read into what comes.
            for end in ["-wal", "-shm"] { unlink(location.path + end) }
            try copy.publish()
        } catch {
            if !wasThere { for end in ["", "-lock"] { unlink(location.path + end) } }
            throw error
        }
    }

    private static func forReading(_ options: SQLiteOptions) -> SQLiteOptions {
        var options = options
        options.readOnly = true
        options.isUnchanging = true
        return options
    }
}
