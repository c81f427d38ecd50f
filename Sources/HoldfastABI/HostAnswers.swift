public import CHoldfast
internal import CHoldfastPlatform
internal import HoldfastCore
internal import HoldfastEnvironment

/// What a status function of the host's answers. Those that were declared to answer by a call are believed nothing else.
func status<Function>(of function: Function, _ call: () -> hf_status) -> hf_status {
    guard isDeclared(function) else { return call() }
    try? Interrupt.hear()
    let answer = declaredAnswer(Int64(hf_status.HF_HOST_ERROR.rawValue)) { _ = call() }
    return hf_status(rawValue: UInt32(truncatingIfNeeded: answer))!
}

/// Whether a function of the host's says that it goes on.
func consent<Function>(of function: Function, _ call: () -> Bool) -> Bool {
    guard isDeclared(function) else { return call() }
    try? Interrupt.hear()
    return declaredAnswer(0) { _ = call() } != 0
}

/// Whether a predicate of the host's means an entity.
func truth<Function>(of function: Function, _ call: () -> Bool) throws(HoldfastError) -> Bool {
    guard isDeclared(function) else { return call() }
    let answer = declaredAnswer(-1) { _ = call() }
    guard answer >= 0 else { throw HoldfastError(.hostError, "the predicate failed") }
    return answer != 0
}

/// A number that a function of the host's answers.
func number<Function>(of function: Function, or failure: Int64, _ call: () -> Int64) -> Int64 {
    isDeclared(function) ? declaredAnswer(failure) { _ = call() } : call()
}

/// Calls a function of the host's that answers nothing.
func run<Function>(_ function: Function, _ call: () -> Void) {
    if isDeclared(function) { _ = declaredAnswer(0, call) } else { call() }
}

/// A function of C's is its address.
private func isDeclared<Function>(_ function: Function) -> Bool {
    hfplatform_answer_is_declared(unsafeBitCast(function, to: UnsafeRawPointer.self))
}

private func declaredAnswer(_ failure: Int64, _ call: () -> Void) -> Int64 {
    var answer = hfplatform_answer(value: failure, is_given: false, missed: 0, outer: nil)
    return withUnsafeMutablePointer(to: &answer) { answer in
        hfplatform_answer_begin(answer)
        repeat { call() } while hfplatform_answer_is_awaited(answer)
        hfplatform_answer_end(answer)
        return answer.pointee.value
    }
}

@_cdecl("hf_answer_declare") @implementation
public func hf_answer_declare(_ function: hf_function?, _ out_error: OutError?) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        guard let function else { throw HoldfastError(.invalidArgument, "function is NULL: pass one") }
        guard hfplatform_answer_declare(unsafeBitCast(function, to: UnsafeRawPointer.self)) else {
            throw HoldfastError(.noMemory, "there is no place for another function")
        }
    }
}

@_cdecl("hf_answer") @implementation
public func hf_answer(_ answer: Int64) -> Int32 { hfplatform_answer_give(answer) }
