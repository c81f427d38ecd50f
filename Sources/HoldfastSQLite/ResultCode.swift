import CSQLite
import HoldfastCore
internal import HoldfastEnvironment

/// Turns what SQLite answers into the library's errors: every result code passes here.
enum ResultCode {
    /// The error for a call that answered `code`. `doing` is a gerund: "committing".
    static func error(_ code: Int32, _ doing: String, _ path: String, connection: OpaquePointer?) -> HoldfastError {
        if code & 0xFF == SQLITE_INTERRUPT { return Interrupt.cancelled }
        let systemError = connection.map { sqlite3_system_errno($0) } ?? 0
        // The connection's own words belong to its last call, which may be another one.
        let isLast = connection.map { sqlite3_extended_errcode($0) & 0xFF == code & 0xFF } ?? false
        let words = isLast ? String(cString: sqlite3_errmsg(connection)) : String(cString: sqlite3_errstr(code))
        let status = status(of: code, words: words, systemError: systemError)
        var reason = "\(words), SQLite error \(code)"
        let lacksDescriptors = isOfDescriptors(code, systemError)
        if systemError != 0 && needsSystemError(status) || lacksDescriptors {
            reason += ", \(describe(systemError))"
        }
        let cure =
            words.hasPrefix(extensionFailed)
            ? Self.extensionCure : lacksDescriptors ? Self.descriptorCure : cure(status)
        return HoldfastError(status, "\(doing) \(path) failed (\(reason))\(cure)")
    }

    /// SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC, macros that Swift does not import.
    static func isFailedSync(_ code: Int32) -> Bool {
        code == SQLITE_IOERR | (4 << 8) || code == SQLITE_IOERR | (5 << 8)
    }

    /// The latter is SQLITE_READONLY_CANTINIT, which SQLite's file layer tells of the index.
    static func isOpenedForReading(_ code: Int32) -> Bool {
        code == SQLITE_READONLY || code == SQLITE_READONLY | (5 << 8)
    }

    static func isOutOfMemory(_ code: Int32) -> Bool {
        code & 0xFF == SQLITE_NOMEM || code == outOfMemoryDuringIO
    }

    static func describe(_ systemError: Int32) -> String { String(cString: strerror(systemError)) }

    private static func status(of code: Int32, words: String, systemError: Int32) -> Status {
        // SQLite knows ENOSPC from a write; a quota, and the shared memory file, come as plain I/O errors.
        let isSpace = systemError == ENOSPC || systemError == EDQUOT
        if isOutOfMemory(code) { return .noMemory }
        return switch code & 0xFF {
        case SQLITE_FULL: .full
        case SQLITE_IOERR: isSpace ? .full : .io
        case SQLITE_READONLY, SQLITE_PERM: .readOnly
        case SQLITE_CANTOPEN: isSpace ? .full : isOfDescriptors(code, systemError) ? .noMemory : .cannotOpen
        case SQLITE_NOTADB: .notAStore
        case SQLITE_CORRUPT, SQLITE_CONSTRAINT, SQLITE_MISMATCH: .corrupt
        case SQLITE_ERROR where words.hasPrefix(extensionFailed): .cannotOpen
        // The statements are fixed, so what they do not find, or find in their way, is missing or added in the file.
        // Those that begin and end transactions can fail by a defect here: "cannot commit", "cannot start".
        case SQLITE_ERROR: words.hasPrefix("cannot ") ? .internal : .corrupt
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
        default: .internal
        }
    }

    /// What SQLite says of the functions that a program has given to sqlite3_auto_extension.
    private static let extensionFailed = "automatic extension loading failed"
    private static let extensionCure = ": an extension fails that this program has given to sqlite3_auto_extension"

    private static func needsSystemError(_ status: Status) -> Bool {
        status == .io || status == .full || status == .cannotOpen
    }

    /// Of other codes SQLite keeps an error of the system that is older.
    private static func isOfDescriptors(_ code: Int32, _ systemError: Int32) -> Bool {
        code & 0xFF == SQLITE_CANTOPEN && (systemError == EMFILE || systemError == ENFILE)
    }

    private static let descriptorCure = ": close other files, or allow more at once, then run it again"

    private static func cure(_ status: Status) -> String {
        switch status {
        case .full: ": free some space, then run it again"
        case .io: ": check the disk"
        case .readOnly: ": the file or its directory cannot be written; open with \"read_only\": true to read it"
        case .notAStore: ": the file is no SQLite database; choose another place"
        case .corrupt: ": restore a backup, or save what is readable with the sqlite3 program's .recover"
        case .busy: ": another program holds the file; run it again"
        case .noMemory: ": free some memory, then run it again"
        default: ""
        }
    }
}

/// SQLITE_IOERR_NOMEM, a macro that Swift does not import.
private let outOfMemoryDuringIO = SQLITE_IOERR | (12 << 8)
