internal import HoldfastEnvironment

/// The read transaction that the connection which writes stays in between two commits.
///
/// SQLite takes four locks on bytes of a file to begin to read and to cease, each a call into the system, and two to write. A
/// process that commits again and again, and that nobody else writes beside, reads the very state that it has left: so from
/// some commits in a row on it stays in the read transaction, which a statement holds open that has begun to read
/// (`Connection.stay`). Nothing rests on nobody else having written: SQLite itself refuses to write in a read transaction
/// that does not show the newest state (SQLITE_BUSY_SNAPSHOT, see sqlite3WalBeginWriteTransaction in wal.c).
///
/// Who reads from the WAL keeps it from being copied behind what it reads, and from being begun anew. So the transaction is
/// ended after some commits, before each checkpoint, during which none is kept, and where no commit has followed for a while.
final class KeptRead: Sendable {
    // What guards the connection: while `isInUse` it is whoever commits who has it, between two commits the lock.

    private struct State {
        /// Whose read transaction is open; nil: none is.
        var connection: Connection?
        /// Whether somebody is about to commit, or just doing so: then he ends it.
        var isInUse = false
        /// How many commits followed one another, of nobody else.
        var commits = 0
        /// How many want none to be kept.
        var refusals = 0

        mutating func end() {
            connection?.leave()
            connection = nil
        }
    }

    private let state = Lock(State())
    /// From so many commits in a row on one is kept, and for so many at most.
    private let most: Int

    init(most: Int) { self.most = most }

    var isKept: Bool { state.withLock { $0.connection != nil } }

    // MARK: For whoever commits

    /// Before anything is done with the connection that writes.
    func use() { state.withLock { $0.isInUse = true } }

    /// BEGIN IMMEDIATE. In the read transaction, where one is kept, it does not wait: where it fails the other begins anew.
    func begin(on connection: Connection) throws(HoldfastError) {
        if isKept {
            do throws(HoldfastError) { return try connection.run(.beginImmediate, "beginning a commit in") } catch {
                // Somebody has committed, or is just writing.
                state.withLock { state in
                    state.end()
                    state.commits = 0
                }
            }
        }
        try connection.run(.beginImmediate, "beginning a commit in")
    }

    /// Before a COMMIT. A read that fails may end the transaction with a ROLLBACK. `isAlone` is asked where it matters.
    func keep(_ connection: Connection, if isAlone: () -> Bool) {
        state.withLock { state in
            state.commits += 1
            guard state.connection == nil, state.commits > most, !isLast(state), state.refusals == 0, isAlone(),
                connection.stay()
            else { return }
            state.connection = connection
            state.isInUse = true
        }
    }

    /// After a COMMIT, or where none came.
    func rest() {
        state.withLock { state in
            state.isInUse = false
            if state.refusals > 0 || isLast(state) { state.end() }
        }
    }

    /// After a ROLLBACK, and before what can only be done where no statement reads.
    func giveUp() {
        state.withLock { state in
            state.end()
            state.isInUse = false
        }
    }

    /// Whether the commit is the last of those for which one is kept.
    private func isLast(_ state: State) -> Bool { state.commits % most == 0 }

    // MARK: For the checkpointer

    /// Ends one that nobody uses.
    func giveUpIdle() {
        state.withLock { state in
            if state.isInUse { return }
            state.end()
            state.commits = 0
        }
    }

    /// Runs `body` while none is kept between commits.
    func without<Result>(_ body: () throws(HoldfastError) -> Result) throws(HoldfastError) -> Result {
        state.withLock { state in
            state.refusals += 1
            if !state.isInUse { state.end() }
        }
        defer { state.withLock { $0.refusals -= 1 } }
        return try body()
    }
}
