public import HoldfastEnvironment
public import HoldfastQuery
public import HoldfastStorage

/// What only files have.
extension PostgreSQLStorage {
    public func backUp(to path: String, _ progress: Progress) throws(HoldfastError) -> CommitSequence {
        throw HoldfastError(
            .unsupported,
            "a store on a server is no file that could be backed up here: take pg_dump or the server's own backups, or "
                + "export its entities")
    }

    public func compact(unless end: Interrupt.Flag) throws(HoldfastError) -> (before: UInt64, after: UInt64) {
        throw HoldfastError(
            .unsupported,
            "a store on a server is no file that could be compacted: its autovacuum uses free space again, and VACUUM FULL "
                + "gives it back")
    }
}
