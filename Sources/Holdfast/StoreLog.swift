internal import HoldfastCore
internal import HoldfastStorage

/// How much a log entry matters.
public enum LogLevel: String, Sendable, Hashable, CaseIterable {
    /// Stores are opened and closed, logs are written back to their files.
    case info
    /// Slow commits, transactions that run again with the ids that collided, snapshots taken back from long readers.
    case warning
    /// Failures of the storage, and recoveries.
    case error
}

/// What the library has to say to a program's log.
public struct LogEntry: Sendable, Hashable {
    /// How much it matters.
    public var level: LogLevel
    /// One sentence.
    public var message: String
    /// What the sentence speaks of, as a JSON object: `{"store":"music.db","milliseconds":412}`.
    public var fields: String
}

extension Store {
    /// Sets the one function of this process that hears log entries, of all stores, in place of the one before; nil for none,
    /// as it is at first. The library itself never prints.
    ///
    ///     Store.setLogHandler { entry in logger.log(level: entry.level.forMyLog, "\(entry.message) \(entry.fields)") }
    ///
    /// It is called on the thread where an entry arises, by several at once, and must return soon, because a commit may be
    /// waiting for it. It must not wait for a store to be closed.
    public static func setLogHandler(_ handler: (@Sendable (LogEntry) -> Void)?) {
        DiagnosticsLog.set(handler.map(FunctionLog.init))
    }
}

private final class FunctionLog: DiagnosticsReceiver {
    private let function: @Sendable (LogEntry) -> Void

    init(_ function: @escaping @Sendable (LogEntry) -> Void) { self.function = function }

    func receive(_ level: HoldfastCore.DiagnosticsLevel, _ message: String, fields: [UInt8]) {
        let level: LogLevel =
            switch level {
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        function(LogEntry(level: level, message: message, fields: String(decoding: fields, as: UTF8.self)))
    }
}
