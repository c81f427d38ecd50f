public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastServices
internal import Synchronization

/// The host's two functions for a controller, which share their user data.
private final class HostController: HostObserver, ControllerHost, @unchecked Sendable {
    // Sendable: immutable but for an atomic; the header says on which threads the host is called.
    private let middleware: hf_middleware_fn?
    /// How many of the two may still be called.
    private let callable = Atomic<Int>(2)

    init(
        _ middleware: hf_middleware_fn?, _ onState: hf_event_fn?, _ pointer: UnsafeMutableRawPointer?,
        _ destructor: Destructor?
    ) {
        self.middleware = middleware
        super.init(onState, pointer, destructor)
    }

    func willHandle(_ action: ControllerAction, _ state: ControllerState) {
        guard let middleware else { return }
        let action = action.json + [0]
        let state = state.json + [0]
        action.withUnsafeBytes { action in
            state.withUnsafeBytes { state in
                _ = isSameProcess {
                    run(middleware) {
                        middleware(
                            action.baseAddress!.assumingMemoryBound(to: CChar.self), action.count - 1,
                            state.baseAddress!.assumingMemoryBound(to: CChar.self), state.count - 1, pointer)
                    }
                }
            }
        }
    }

    func closed() { endOne() }

    override func cancelled() { endOne() }

    private func endOne() {
        if callable.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { end() }
    }
}

@_cdecl("hf_controller_create") @implementation
public func hf_controller_create(
    _ repository: OpaquePointer?, _ middleware: hf_middleware_fn?, _ on_state: hf_event_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
    _ out_controller: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    // Freed with the last reference, also when this fails.
    let host = HostController(middleware, on_state, user_data, free_user_data)
    return answer(repository, out_controller, "out_controller", out_error) {
        (repository: Repository) throws(HoldfastError) in
        let controller = try Controller(repository, for: host)
        do throws(HoldfastError) {
            return try HandleTable.insert(controller)
        } catch {
            controller.close()
            throw error
        }
    }
}

@_cdecl("hf_controller_dispatch") @implementation
public func hf_controller_dispatch(
    _ controller: OpaquePointer?, _ action: UnsafePointer<CChar>?, _ length: Int, _ out_error: OutError?
) -> hf_status {
    answer(controller, out_error) { (controller: Controller) throws(HoldfastError) in
        try controller.dispatch(json: bytes(action, length, "action"))
    }
}

@_cdecl("hf_controller_state") @implementation
public func hf_controller_state(
    _ controller: OpaquePointer?, _ out_state: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_state, "out_state", out_error) { () throws(HoldfastError) in
        try HandleTable.use(controller) { (controller: Controller) throws(HoldfastError) in controller.state }.json
    }
}

@_cdecl("hf_controller_free") @implementation
public func hf_controller_free(_ controller: OpaquePointer?) {
    HandleTable.remove(controller, as: Controller.self)?.close()
}

@_cdecl("hf_reduce") @implementation
public func hf_reduce(
    _ action: UnsafePointer<CChar>?, _ action_length: Int, _ state: UnsafePointer<CChar>?, _ state_length: Int,
    _ out_state: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_state, "out_state", out_error) { () throws(HoldfastError) in
        let action = try ControllerAction(json: bytes(action, action_length, "action"))
        var next = try ControllerState(json: optionalBytes(state, state_length, "state"))
        next.reduce(action)
        return next.json
    }
}
