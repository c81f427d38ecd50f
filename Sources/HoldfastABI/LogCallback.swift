public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import Synchronization

/// A host's log callback, with what belongs to it. Its end is the end of its last call, because each call holds it.
private final class HostLog: UserData, DiagnosticsReceiver, @unchecked Sendable {
    // Sendable: immutable; the callback's documentation says that any thread may call it.
    private let callback: hf_log_fn

    init(_ callback: @escaping hf_log_fn, _ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?) {
        self.callback = callback
        super.init(pointer, destructor)
    }

    func receive(_ level: DiagnosticsLevel, _ message: String, fields: [UInt8]) {
        let fields = String(decoding: fields, as: UTF8.self)
        message.withCString { message in
            fields.withCString { fields in
                let level = hf_log_level(rawValue: UInt32(level.rawValue))!
                run(callback) { callback(level, message, fields, pointer) }
            }
        }
    }
}

/// A host's `user_data` with its destructor, which runs exactly once: when this goes, or before, by `end`.
class UserData: @unchecked Sendable {
    // Sendable: immutable; the pointer is only handed through.
    typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void

    let pointer: UnsafeMutableRawPointer?
    private let destructor: Destructor?
    private let hasEnded = Atomic<Bool>(false)

    init(_ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?) {
        self.pointer = pointer
        self.destructor = destructor
    }

    deinit { end() }

    final func end() {
        if let destructor = takeDestructor() { run(destructor) { destructor(pointer) } }
    }

    /// Leaves running the destructor to the caller.
    final func takeDestructor() -> Destructor? {
        hasEnded.exchange(true, ordering: .acquiringAndReleasing) ? nil : destructor
    }
}

@_cdecl("hf_log_set_callback") @implementation
public func hf_log_set_callback(
    _ callback: hf_log_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        guard let callback else {
            UserData(user_data, free_user_data).end()
            return DiagnosticsLog.set(nil)
        }
        DiagnosticsLog.set(HostLog(callback, user_data, free_user_data))
    }
}
