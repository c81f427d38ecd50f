public import CHoldfast
internal import HoldfastCore

/// A host's log callback, with what belongs to it. Its end is the end of its last call, because each call holds it.
private final class HostLog: LogReceiver, @unchecked Sendable {
    // Sendable: immutable; the callback's documentation says that any thread may call it.
    private let callback: hf_log_fn
    private let context: UserData

    init(_ callback: @escaping hf_log_fn, _ context: UserData) {
        self.callback = callback
        self.context = context
    }

    func receive(_ level: LogLevel, _ message: String, fields: [UInt8]) {
        let fields = String(decoding: fields, as: UTF8.self)
        message.withCString { message in
            fields.withCString { fields in
                callback(hf_log_level(rawValue: UInt32(level.rawValue))!, message, fields, context.pointer)
            }
        }
    }
}

/// A host's `user_data` with its destructor, which runs exactly once: when this goes, or before, by `end`.
final class UserData: @unchecked Sendable {
    // Sendable: the pointer is only handed through; ending is guarded by a lock.
    typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void

    let pointer: UnsafeMutableRawPointer?
    private let destructor: Lock<Destructor?>

    init(_ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?) {
        self.pointer = pointer
        self.destructor = Lock(destructor)
    }

    deinit { end() }

    func end() { takeDestructor()?(pointer) }

    /// Leaves running the destructor to the caller.
    func takeDestructor() -> Destructor? {
        destructor.withLock { destructor in
            defer { destructor = nil }
            return destructor
        }
    }
}

@_cdecl("hf_set_log_callback") @implementation
public func hf_set_log_callback(
    _ callback: hf_log_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let context = UserData(user_data, free_user_data)
        Log.set(callback.map { HostLog($0, context) })
    }
}
