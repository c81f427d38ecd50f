import CHoldfastPlatform
import CSQLite

/// Lets a forked child use SQLite for stores of its own.
///
/// SQLite takes no notice of forks. Its global mutexes, such as the one that counts allocated memory, are held for a
/// moment by nearly every call, and in a child they would stay held for ever by threads that it does not have. So
/// whoever forks takes them first.
enum SQLiteForks {
    /// What SQLite itself uses; three more static mutexes are the application's.
    private static let numbers = [
        SQLITE_MUTEX_STATIC_MAIN, SQLITE_MUTEX_STATIC_MEM, SQLITE_MUTEX_STATIC_OPEN, SQLITE_MUTEX_STATIC_PRNG,
        SQLITE_MUTEX_STATIC_LRU, SQLITE_MUTEX_STATIC_PMEM, SQLITE_MUTEX_STATIC_VFS1, SQLITE_MUTEX_STATIC_VFS2,
        SQLITE_MUTEX_STATIC_VFS3,
    ]

    // nonisolated(unsafe): immutable, and the mutexes are made for many threads.
    private nonisolated(unsafe) static let mutexes: [OpaquePointer?] = {
        sqlite3_initialize()
        let mutexes = numbers.map { sqlite3_mutex_alloc($0) }
        hfplatform_around_forks({ takeAll() }, { giveBackAll() })
        return mutexes
    }()

    /// Called before SQLite is used.
    static func prepare() {
        // No child shall find this half done, either.
        hfplatform_fork_hold()
        defer { hfplatform_fork_release() }
        _ = mutexes
    }

    /// The order in which SQLite takes them is its own affair, so this never waits for one while it holds another:
    /// it waits for the one that was not free, and tries again.
    private static func takeAll() {
        var first = 0
        while true {
            sqlite3_mutex_enter(mutexes[first])
            var taken = 0
            while taken < mutexes.count && (taken == first || sqlite3_mutex_try(mutexes[taken]) == SQLITE_OK) {
                taken += 1
            }
            if taken == mutexes.count { return }
            for index in 0..<taken where index != first { sqlite3_mutex_leave(mutexes[index]) }
            sqlite3_mutex_leave(mutexes[first])
            first = taken
        }
    }

    private static func giveBackAll() {
        for mutex in mutexes { sqlite3_mutex_leave(mutex) }
    }
}
