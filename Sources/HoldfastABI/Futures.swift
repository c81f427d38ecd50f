public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment

typealias OutFuture = UnsafeMutablePointer<OpaquePointer?>

/// Gives a value and its receipt to whoever wants them.
func fill(
    _ out_value: UnsafeMutablePointer<hf_entity>?, _ out_receipt: UnsafeMutablePointer<hf_buffer>?,
    with value: FutureValue
) throws(HoldfastError) {
    if let out_value {
        try value.bytes.withBytes { bytes throws(HoldfastError) in
            try fill(out_value, with: bytes, version: value.version)
        }
    }
    if let out_receipt { try fill(out_receipt, with: value.receipt?.json ?? []) }
}

@_cdecl("hf_future_create") @implementation
public func hf_future_create(_ out_future: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        try required(out_future, "out_future").pointee = try HandleTable.insert(Future())
    }
}

/// Throws when the future was completed before.
private func complete(
    _ future: OpaquePointer?, _ out_error: OutError?, _ outcome: () throws(HoldfastError) -> FutureOutcome
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let outcome = try outcome()
        try HandleTable.use(future) { (future: Future) throws(HoldfastError) in
            guard future.complete(outcome) else {
                throw HoldfastError(.invalidState, "the future was completed before: the first completion stands")
            }
        }
    }
}

@_cdecl("hf_future_complete") @implementation
public func hf_future_complete(
    _ future: OpaquePointer?, _ value: UnsafePointer<CChar>?, _ length: Int, _ out_error: OutError?
) -> hf_status {
    complete(future, out_error) { () throws(HoldfastError) in
        .success(FutureValue(bytes: try Array(asking: try bytes(value, length, "value"))))
    }
}

@_cdecl("hf_future_fail") @implementation
public func hf_future_fail(
    _ future: OpaquePointer?, _ status: hf_status, _ message: UnsafePointer<CChar>?, _ out_error: OutError?
) -> hf_status {
    complete(future, out_error) { () throws(HoldfastError) in
        if status == hf_status.HF_OK {
            throw HoldfastError(.invalidArgument, "HF_OK is no failure: use hf_future_complete")
        }
        let failure = hostError(status, "the future was failed with")
        guard message != nil else { return .failure(failure) }
        return .failure(HoldfastError(failure.status, try text(message, "message"), detail: failure.detail))
    }
}

@_cdecl("hf_future_wait") @implementation
public func hf_future_wait(
    _ future: OpaquePointer?, _ identifier: UnsafePointer<CChar>?, _ timeout_ms: Int64,
    _ out_value: UnsafeMutablePointer<hf_entity>?, _ out_receipt: UnsafeMutablePointer<hf_buffer>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let identifier = identifier == nil ? nil : try text(identifier, "identifier")
        let value = try HandleTable.use(future) { (future: Future) throws(HoldfastError) in
            try future.wait(milliseconds: waiting(timeout_ms), identifier: identifier)
        }
        try fill(out_value, out_receipt, with: value)
    }
}

@_cdecl("hf_future_is_ended") @implementation
public func hf_future_is_ended(_ future: OpaquePointer?) -> Bool {
    (try? HandleTable.use(future) { (future: Future) throws(HoldfastError) in future.isCompleted }) ?? false
}

@_cdecl("hf_future_observe") @implementation
public func hf_future_observe(
    _ future: OpaquePointer?, _ on_end: hf_event_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ out_error: OutError?
) -> hf_status {
    let observer = HostObserver(on_end, user_data, free_user_data)
    let status = answer(future, out_error) { (future: Future) throws(HoldfastError) in try future.observe(observer) }
    if status != hf_status.HF_OK { observer.end() }
    return status
}

@_cdecl("hf_future_cancel") @implementation
public func hf_future_cancel(_ future: OpaquePointer?, _ out_error: OutError?) -> hf_status {
    answer(future, out_error) { (future: Future) throws(HoldfastError) in try future.cancel() }
}

@_cdecl("hf_future_free") @implementation
public func hf_future_free(_ future: OpaquePointer?) {
    _ = HandleTable.remove(future, as: Future.self)
}

@_cdecl("hf_transaction_submit_future") @implementation
public func hf_transaction_submit_future(
    _ transaction: OpaquePointer?, _ out_future: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let result = try required(out_future, "out_future")
        result.pointee = nil
        do throws(HoldfastError) {
            try HandleTable.use(transaction) { (transaction: Transaction) throws(HoldfastError) in
                try transaction.submit { future throws(HoldfastError) in
                    result.pointee = try HandleTable.insert(future)
                }
            }
        } catch {
            hf_future_free(result.pointee)
            result.pointee = nil
            throw error
        }
    }
}

@_cdecl("hf_transaction_retry") @implementation
public func hf_transaction_retry(
    _ transaction: OpaquePointer?, _ options: UnsafePointer<CChar>?,
    _ out_transaction: UnsafeMutablePointer<OpaquePointer?>?, _ out_turn: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let result = try required(out_transaction, "out_transaction")
        let turnResult = try required(out_turn, "out_turn")
        result.pointee = nil
        turnResult.pointee = nil
        try HandleTable.use(transaction) { (transaction: Transaction) throws(HoldfastError) in
            let options = try options.map { options throws(HoldfastError) in
                try TransactionOptions(json: HoldfastABI.options(options))
            }
            try transaction.retry(options) { next, turn throws(HoldfastError) in
                let turnHandle = try HandleTable.insert(turn)
                do throws(HoldfastError) {
                    result.pointee = try handle(of: next)
                } catch {
                    hf_future_free(turnHandle)
                    throw error
                }
                turnResult.pointee = turnHandle
            }
        }
    }
}

@_cdecl("hf_await") @implementation
public func hf_await(
    _ starter: hf_starter_fn?, _ user_data: UnsafeMutableRawPointer?, _ identifier: UnsafePointer<CChar>?,
    _ timeout_ms: Int64, _ out_value: UnsafeMutablePointer<hf_entity>?,
    _ out_future: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        out_future?.pointee = nil
        guard let starter else { throw HoldfastError(.invalidArgument, "starter is NULL: pass the function to run") }
        let identifier = identifier == nil ? nil : try text(identifier, "identifier")
        let wait = try FutureWait(milliseconds: waiting(timeout_ms), identifier: identifier)
        let handle = try HandleTable.insert(wait.future)
        var status = hf_status.HF_OK
        var error: OpaquePointer?
        guard
            isSameProcess(after: {
                status = HoldfastABI.status(of: starter) { starter(handle, user_data, &error) }
            })
        else {
            throw HoldfastError(.forked, "the starter forked: the parent waits, not this process")
        }
        var isKept = false
        defer {
            if !isKept {
                // Else a completion that has the handle in hand would be accepted, and lost.
                _ = wait.giveUp()
                hf_future_free(handle)
            }
        }
        func keep() {
            guard let out_future else { return }
            out_future.pointee = handle
            isKept = true
        }
        try accept(status, error, "the starter answered")
        var outcome: FutureOutcome?
        var failure: HoldfastError?
        do throws(HoldfastError) { outcome = try wait.outcome() } catch {
            guard error.status == .cancelled else { throw error }
            failure = error
        }
        if outcome == nil && out_future == nil { outcome = wait.giveUp() }
        guard let outcome else {
            keep()
            throw failure ?? wait.timedOut
        }
        let value = try outcome.get()
        do throws(HoldfastError) {
            try fill(out_value, nil, with: value)
        } catch {
            keep()
            throw error
        }
    }
}
