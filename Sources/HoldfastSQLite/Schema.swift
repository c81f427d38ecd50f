internal import HoldfastStorage

/// The layout of a store's SQLite file, format 1. A file of any 1.x opens in every later 1.x.
///
///     holdfast_meta          one row a mark, by name:
///                              incarnation   16 random bytes, set at creation
///                              reserved      sequences up to this one may have been given out. After a clean close
///                                            it equals the newest sequence in the log; where it is greater at an
///                                            open, the store was not closed, and a row without changes is put into
///                                            the log at this sequence, so that the log alone tells the head
///                              log_start     log entries below this sequence were trimmed
///                              catalogue     the sequence at which the catalogue, of repositories or of indexes, changed
///                                            last
///                              repository_N  what became of the repository whose id is N since it was created, as JSON:
///                                            {"changed","dropped","names","texts"}, see RepositoryRecord
///                              minimum_reader  what a library must understand of format 1 to use the file, as a
///                                            number; no row stands for 1. A later 1.x that puts something into a
///                                            file which earlier ones would misread, as an index of a new kind, sets
///                                            it in the same commit, and they refuse the file from then on
///     holdfast_repository    the catalogue. `id` is never reused. Each row has a view of the repository's name, unless it
///                            was dropped: then the row keeps the number, and the name until another takes it
///     holdfast_entity        one row an entity. `body` is the text as it was given, byte for byte. A rowid table
///                            with a unique key, because documents in the key's own tree double the price of a write.
///                            `number` is the rowid by a name of its own, which VACUUM leaves alone
///     holdfast_index         the catalogue of indexes; IndexDefinition.swift tells what `definition` says. `id` is
///                            the sequence of the commit that created it
///     holdfast_index_N       the entries of the index whose id is N: keys as OrderedKey.swift describes them, the id
///                            of the entity, and the number of its row, so that reading along an index takes one
///                            lookup an entity. Those of a text index lead to no entity: TextRows.swift describes their
///                            keys, the id is empty and the number 0
///     holdfast_log           one row for the commits that were stored together. The row's number, `commit_id` and
///                            `time` are those of the newest of them: its sequence, a random number, milliseconds
///                            since 1970. `changes` tells all of them, as CommitLogEncoding.swift describes
///     holdfast_idempotency   what commits with an idempotency key left; its rowid is the sequence
///
/// Sequences, versions and times stay below 2^63; `commit_id` and `fingerprint` are the bits of 64-bit numbers.
/// `application_id` is "HOLD" and `user_version` the format. Text is UTF-8.
///
/// Other programs may read the file, through the views best; they must not write it.
enum Schema {
    static let applicationID: Int64 = 0x484F_4C44
    static let format: Int64 = 1
    /// How much this library understands of the format. Greater with each version that puts something new into files: 2
    /// with the present kind of index entries (see IndexDefinition.swift), 3 with repositories that are dropped and renamed, and that
    /// know whether their ids are texts, 4 with text indexes.
    static let reader: Int64 = 4
    /// Who understands a file in which a repository was created, dropped or renamed by this library.
    static let repositories: Int64 = 3

    /// Without `auto_vacuum`, because pages that move about make a checkpoint larger. EXTRA syncs the directory when
    /// the rollback journal, with which SQLite turns to the write-ahead log, is removed: were it there again after a
    /// power cut, it would take the store back to the empty file.
    static let beforeCreation = """
        PRAGMA synchronous = EXTRA; PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL
        """

    static let creation = """
        CREATE TABLE holdfast_meta (
            name TEXT PRIMARY KEY NOT NULL, value ANY NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE holdfast_repository (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE UNIQUE, key TEXT NOT NULL) STRICT;
        CREATE TABLE holdfast_entity (
            number INTEGER PRIMARY KEY, repository INTEGER NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,
            body TEXT NOT NULL, UNIQUE (repository, id)) STRICT;
        CREATE TABLE holdfast_index (
            id INTEGER PRIMARY KEY, repository INTEGER NOT NULL, name TEXT NOT NULL,
            definition TEXT NOT NULL, state INTEGER NOT NULL, has_arrays INTEGER NOT NULL,
            UNIQUE (repository, name)) STRICT;
        CREATE TABLE holdfast_log (
            sequence INTEGER PRIMARY KEY, commit_id INTEGER NOT NULL, time INTEGER NOT NULL,
            changes BLOB NOT NULL) STRICT;
        CREATE TABLE holdfast_idempotency (
            sequence INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, fingerprint INTEGER NOT NULL,
            time INTEGER NOT NULL, receipt BLOB NOT NULL) STRICT;
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(format);
        """

    /// What every connection is set to.
    ///
    /// `mmap_size`: an I/O error on a mapped page would be a SIGBUS in the host. `trusted_schema`,
    /// `cell_size_check`: a damaged or hostile file is told, not obeyed. `wal_autocheckpoint`: the automatic
    /// checkpoint would run on the committing thread; see Checkpointer.swift. `secure_delete`: a build that overwrites
    /// what is deleted would write pages for it that nothing else needs. `fullfsync`: to the disk itself also on macOS,
    /// whose fsync ends at the drive's cache; elsewhere it changes nothing.
    static func settings(cacheKibibytes: Int) -> String {
        """
        PRAGMA cache_size = -\(cacheKibibytes); PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;
        PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA secure_delete = FAST;
        PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = FULL;
        PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON
        """
    }

    /// The table of an index's entries.
    static func entries(of index: Int64) -> String {
        """
        CREATE TABLE IF NOT EXISTS holdfast_index_\(index) (
            key BLOB NOT NULL, id TEXT NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY (key, id)) STRICT, WITHOUT ROWID
        """
    }

    /// A name as SQL writes it.
    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// The view through which other programs read a repository.
    static func view(of repository: Int64, named name: String) -> String {
        "CREATE VIEW \(quoted(name)) AS SELECT id, version, body FROM holdfast_entity WHERE repository = \(repository)"
    }
}

/// The statements that a connection keeps prepared.
enum Query: Int, CaseIterable {
    case begin, beginImmediate, commit, rollback, stay
    case rowBounds, rowOwner, scanRows
    case scanAll, scanFrom, scanRange, scanAllReversed, scanFromReversed, scanRangeReversed
    case idsAll, idsFrom, idsRange, idsAllReversed, idsFromReversed, idsRangeReversed
    case head, meta, repositories, indexes, fetch, fetchRow, commitLog, commitLogSizes, idempotency
    case upsert, updateRow, rowNumber, delete, deleteSome, insertCommitLog
    case setRepository, setIndex, removeIndex, insertIdempotency, setMeta
    case trimCommitLog, trimIdempotencyByTime, trimIdempotencyByCount

    var sql: String {
        switch self {
        case .begin: "BEGIN"
        case .beginImmediate: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        // Of what is always there, and at hand: it begins on the file's first page.
        case .stay: "SELECT 1 FROM sqlite_schema"
        case .head: "SELECT max(sequence) FROM holdfast_log"
        case .meta: "SELECT value FROM holdfast_meta WHERE name = ?1"
        case .repositories:
            "SELECT r.id, r.name, r.key, m.value FROM holdfast_repository AS r "
                + "LEFT JOIN holdfast_meta AS m ON m.name = 'repository_' || r.id ORDER BY r.id"
        case .indexes:
            "SELECT id, repository, name, definition, state, has_arrays FROM holdfast_index ORDER BY id"
        case .fetch: "SELECT version, body FROM holdfast_entity WHERE repository = ?1 AND id = ?2"
        case .fetchRow: "SELECT version, body FROM holdfast_entity WHERE number = ?1"
        case .rowBounds: "SELECT (SELECT min(number) FROM holdfast_entity), (SELECT max(number) FROM holdfast_entity)"
        case .rowOwner: "SELECT repository, number FROM holdfast_entity WHERE number >= ?1 ORDER BY number LIMIT 1"
        case .scanRows:
            "SELECT id, number, version, body FROM holdfast_entity NOT INDEXED WHERE repository = ?1 AND number > ?2 "
                + "ORDER BY number"
        case .scanAll: Self.scan(.none)
        case .scanFrom: Self.scan(.lower)
        case .scanRange: Self.scan(.both)
        case .scanAllReversed: Self.scan(.none) + " DESC"
        case .scanFromReversed: Self.scan(.lower) + " DESC"
        case .scanRangeReversed: Self.scan(.both) + " DESC"
        // The index of ids has the rows' numbers, too.
        case .idsAll: Self.scan(.none, "")
        case .idsFrom: Self.scan(.lower, "")
        case .idsRange: Self.scan(.both, "")
        case .idsAllReversed: Self.scan(.none, "") + " DESC"
        case .idsFromReversed: Self.scan(.lower, "") + " DESC"
        case .idsRangeReversed: Self.scan(.both, "") + " DESC"
        case .commitLog:
            "SELECT sequence, commit_id, time, changes FROM holdfast_log WHERE sequence > ?1 ORDER BY sequence"
        // The length is in the row's header: what the row holds is not read.
        case .commitLogSizes: "SELECT sequence, length(changes) FROM holdfast_log ORDER BY sequence DESC"
        case .idempotency: "SELECT fingerprint, sequence, time, receipt FROM holdfast_idempotency WHERE key = ?1"
        case .upsert:
            "INSERT INTO holdfast_entity (repository, id, version, body) VALUES (?1, ?2, ?3, ?4) "
                + "ON CONFLICT (repository, id) DO UPDATE SET version = excluded.version, body = excluded.body"
        case .updateRow:
            "UPDATE holdfast_entity SET version = ?3, body = ?4 WHERE number = ?5 AND repository = ?1 AND id = ?2"
        case .rowNumber: "SELECT number FROM holdfast_entity WHERE repository = ?1 AND id = ?2"
        case .delete: "DELETE FROM holdfast_entity WHERE repository = ?1 AND id = ?2"
        // By their ids, which are in the index with the rows' numbers.
        case .deleteSome:
            "DELETE FROM holdfast_entity WHERE number IN "
                + "(SELECT number FROM holdfast_entity WHERE repository = ?1 ORDER BY id LIMIT ?2)"
        case .insertCommitLog: "INSERT INTO holdfast_log (sequence, commit_id, time, changes) VALUES (?1, ?2, ?3, ?4)"
        case .setRepository:
            "INSERT INTO holdfast_repository (id, name, key) VALUES (?1, ?2, ?3) "
                + "ON CONFLICT (id) DO UPDATE SET name = excluded.name"
        case .setIndex:
            "INSERT INTO holdfast_index (id, repository, name, definition, state, has_arrays) "
                + "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO UPDATE SET "
                + "state = excluded.state, has_arrays = excluded.has_arrays"
        case .removeIndex: "DELETE FROM holdfast_index WHERE id = ?1"
        case .insertIdempotency:
            "INSERT OR REPLACE INTO holdfast_idempotency (sequence, key, fingerprint, time, receipt) "
                + "VALUES (?1, ?2, ?3, ?4, ?5)"
        case .setMeta: "INSERT OR REPLACE INTO holdfast_meta (name, value) VALUES (?1, ?2)"
        case .trimCommitLog: "DELETE FROM holdfast_log WHERE sequence < ?1"
        // Sequences rise with time: this walks from the oldest record and stops at the first that stays.
        case .trimIdempotencyByTime:
            "DELETE FROM holdfast_idempotency WHERE sequence < coalesce((SELECT sequence FROM holdfast_idempotency "
                + "WHERE time >= ?1 ORDER BY sequence LIMIT 1), 9223372036854775807)"
        // count(*) reads the index of the keys, not the receipts.
        case .trimIdempotencyByCount:
            "DELETE FROM holdfast_idempotency WHERE sequence IN (SELECT sequence FROM holdfast_idempotency "
                + "ORDER BY sequence LIMIT max(0, (SELECT count(*) FROM holdfast_idempotency) - ?1))"
        }
    }
}

extension Query {
    /// Which ends of a range of ids are asked for. Where one is not, whatever a damaged row has for an id is met there.
    enum Bounds {
        case none, lower, both

        init(_ range: KeyRange) {
            self = range.upper != KeyRange.end ? .both : range.lower.isEmpty ? .none : .lower
        }
    }

    static func scan(_ bounds: Bounds, isReversed: Bool, idsAlone: Bool) -> Query {
        switch (bounds, isReversed) {
        case (.none, false): idsAlone ? .idsAll : .scanAll
        case (.none, true): idsAlone ? .idsAllReversed : .scanAllReversed
        case (.lower, false): idsAlone ? .idsFrom : .scanFrom
        case (.lower, true): idsAlone ? .idsFromReversed : .scanFromReversed
        case (.both, false): idsAlone ? .idsRange : .scanRange
        case (.both, true): idsAlone ? .idsRangeReversed : .scanRangeReversed
        }
    }

    private static func scan(_ bounds: Bounds, _ more: String = ", version, body") -> String {
        let condition =
            switch bounds {
            case .none: ""
            case .lower: " AND id >= ?2"
            case .both: " AND id >= ?2 AND id < ?3"
            }
        return "SELECT id, number\(more) FROM holdfast_entity WHERE repository = ?1\(condition) ORDER BY id"
    }
}

/// The rows of `holdfast_meta`.
enum Mark: String {
    case incarnation, reserved, catalogue
    case commitLogStart = "log_start"
    case minimumReader = "minimum_reader"
}
