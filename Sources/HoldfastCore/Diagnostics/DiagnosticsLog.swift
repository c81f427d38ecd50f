public import HoldfastEnvironment
internal import HoldfastQuery

public enum DiagnosticsLevel: Int32, Sendable {
    case info = 1
    case warning = 2
    case error = 3
}

/// The host's receiver of diagnostics, one for the process. Entries arise on any thread; no lock is held while the
/// receiver runs, and it lives until its last call has returned.
public protocol DiagnosticsReceiver: AnyObject, Sendable {
    func receive(_ level: DiagnosticsLevel, _ message: String, fields: [UInt8])
}

public enum DiagnosticsLog {
    public typealias Field = (name: String, value: HoldfastError.DetailValue)

    /// A forked child begins without a receiver: its parent's may rely on threads that the child does not have.
    private final class Receiver: ProcessOwned {
        let epoch: UInt32
        let current = Lock<(any DiagnosticsReceiver)?>(nil)
        init(epoch: UInt32) { self.epoch = epoch }
    }

    private static let receiver = PerProcess<Receiver>()

    /// Sets the receiver; nil for none.
    public static func set(_ newReceiver: (any DiagnosticsReceiver)?) {
        // The old one is released outside the lock: its end may run the host's destructor.
        let old = receiver.value.current.withLock { current in
            defer { current = newReceiver }
            return current
        }
        _ = old
    }

    public static func write(_ level: DiagnosticsLevel, _ message: String, _ fields: @autoclosure () -> [Field]) {
        guard let receiver = receiver.value.current.withLock({ $0 }) else { return }
        let fields = HoldfastError.json(of: fields())
        _ = isSameProcess { receiver.receive(level, message, fields: fields) }
    }
}

/// The diagnostics log of one store: every entry names it.
package struct StoreDiagnostics: Sendable {
    let location: String

    struct Entry: Sendable {
        var level: DiagnosticsLevel
        var message: String
        var fields: [DiagnosticsLog.Field]
    }

    func write(_ entry: Entry) {
        DiagnosticsLog.write(entry.level, entry.message, [("store", .text(location))] + entry.fields)
    }

    package func info(_ message: String, _ fields: @autoclosure () -> [DiagnosticsLog.Field] = []) {
        DiagnosticsLog.write(.info, message, [("store", .text(location))] + fields())
    }

    package func warning(_ message: String, _ fields: @autoclosure () -> [DiagnosticsLog.Field] = []) {
        DiagnosticsLog.write(.warning, message, [("store", .text(location))] + fields())
    }

    package func error(_ message: String, _ fields: @autoclosure () -> [DiagnosticsLog.Field] = []) {
        DiagnosticsLog.write(.error, message, [("store", .text(location))] + fields())
    }
}
