public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment

@_cdecl("hf_interrupt_set_check") @implementation
public func hf_interrupt_set_check(_ check: hf_interrupt_fn?, _ user_data: UnsafeMutableRawPointer?) {
    guard let check else { return Interrupt.set(nil, nil, nil) }
    Interrupt.set(asking, unsafeBitCast(check, to: UnsafeMutableRawPointer.self), user_data)
}

/// Calls a host's function, which may have been declared to answer by a call.
private let asking: Interrupt.Asking = { check, userData in
    let check = unsafeBitCast(check.unsafelyUnwrapped, to: hf_interrupt_fn.self)
    return consent(of: check) { check(userData) }
}
