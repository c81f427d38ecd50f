public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment

/// What writes in a transaction, which may be NULL. Whatever it fails with is a write of the transaction's that has failed.
func answerWrite(
    _ transaction: OpaquePointer?, _ out_error: OutError?, _ body: () throws(HoldfastError) -> Void
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        do throws(HoldfastError) {
            try body()
        } catch {
            if transaction != nil {
                try? HandleTable.use(transaction) { (transaction: Transaction) throws(HoldfastError) in
                    transaction.noteFailedWrite(error)
                }
            }
            throw error
        }
    }
}

func handle(of transaction: Transaction) throws(HoldfastError) -> OpaquePointer {
    let handle = try HandleTable.insert(transaction)
    HandleMap.note(handle, of: transaction)
    return handle
}

/// Lends a transaction to the host's code by the handle that the host has, or by one for this call.
func lend<Result>(
    _ transaction: Transaction, _ body: (OpaquePointer) throws(HoldfastError) -> Result
) throws(HoldfastError) -> Result {
    if let own = HandleMap.handle(of: transaction) { return try body(own) }
    let lent = try handle(of: transaction)
    func takeBack() throws(HoldfastError) {
        // In a forked child the handle is the parent's.
        try transaction.store.requireSameProcess()
        HandleMap.forget(transaction)
        _ = HandleTable.remove(lent, as: Transaction.self)
    }
    let result: Result
    do throws(HoldfastError) {
        result = try body(lent)
    } catch {
        try takeBack()
        throw error
    }
    try takeBack()
    return result
}

@_cdecl("hf_transaction_begin") @implementation
public func hf_transaction_begin(
    _ store: OpaquePointer?, _ options: UnsafePointer<CChar>?,
    _ out_transaction: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_transaction, "out_transaction", out_error) { (store: Store) throws(HoldfastError) in
        let transaction = try store.begin(TransactionOptions(json: HoldfastABI.options(options)))
        return try handle(of: transaction)
    }
}

@_cdecl("hf_transaction_commit") @implementation
public func hf_transaction_commit(
    _ transaction: OpaquePointer?, _ out_receipt: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in
        let receipt = try transaction.commit()
        if let out_receipt {
            try markingStored(true) { () throws(HoldfastError) in try fill(out_receipt, with: receipt.json) }
        }
    }
}

@_cdecl("hf_transaction_submit") @implementation
public func hf_transaction_submit(
    _ transaction: OpaquePointer?, _ on_end: hf_event_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ out_error: OutError?
) -> hf_status {
    let observer = HostObserver(on_end, user_data, free_user_data)
    let status = answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in
        try transaction.submit(observer)
    }
    if status != hf_status.HF_OK { observer.end() }
    return status
}

@_cdecl("hf_transaction_cancel") @implementation
public func hf_transaction_cancel(_ transaction: OpaquePointer?, _ out_error: OutError?) -> hf_status {
    answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in try transaction.cancel() }
}

@_cdecl("hf_transaction_rollback") @implementation
public func hf_transaction_rollback(_ transaction: OpaquePointer?, _ out_error: OutError?) -> hf_status {
    answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in try transaction.rollback() }
}

@_cdecl("hf_transaction_savepoint") @implementation
public func hf_transaction_savepoint(
    _ transaction: OpaquePointer?, _ out_savepoint: UnsafeMutablePointer<UInt64>?, _ out_error: OutError?
) -> hf_status {
    answer(transaction, out_savepoint, "out_savepoint", out_error) { (transaction: Transaction) throws(HoldfastError) in
        try transaction.savepoint()
    }
}

@_cdecl("hf_transaction_rollback_to") @implementation
public func hf_transaction_rollback_to(
    _ transaction: OpaquePointer?, _ savepoint: UInt64, _ out_error: OutError?
) -> hf_status {
    answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in
        try transaction.rollBack(to: savepoint)
    }
}

@_cdecl("hf_transaction_release") @implementation
public func hf_transaction_release(
    _ transaction: OpaquePointer?, _ savepoint: UInt64, _ out_error: OutError?
) -> hf_status {
    answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in
        try transaction.release(savepoint)
    }
}

@_cdecl("hf_transaction_begin_scope") @implementation
public func hf_transaction_begin_scope(
    _ transaction: OpaquePointer?, _ outer: UInt64, _ out_scope: UnsafeMutablePointer<UInt64>?, _ out_error: OutError?
) -> hf_status {
    answer(transaction, out_scope, "out_scope", out_error) { (transaction: Transaction) throws(HoldfastError) in
        try transaction.beginScope(in: outer == 0 ? nil : outer)
    }
}

@_cdecl("hf_transaction_end_scope") @implementation
public func hf_transaction_end_scope(
    _ transaction: OpaquePointer?, _ scope: UInt64, _ succeeded: Bool, _ out_error: OutError?
) -> hf_status {
    answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in
        try transaction.endScope(scope, succeeded: succeeded)
    }
}

@_cdecl("hf_transaction_get_state") @implementation
public func hf_transaction_get_state(
    _ transaction: OpaquePointer?, _ out_state: UnsafeMutablePointer<hf_transaction_state>?, _ out_error: OutError?
) -> hf_status {
    answer(transaction, out_state, "out_state", out_error) { (transaction: Transaction) throws(HoldfastError) in
        switch transaction.phase {
        case .open: hf_transaction_state.HF_TRANSACTION_OPEN
        case .committing: hf_transaction_state.HF_TRANSACTION_COMMITTING
        case .committed: hf_transaction_state.HF_TRANSACTION_COMMITTED
        case .rolledBack: hf_transaction_state.HF_TRANSACTION_ROLLED_BACK
        case .failed: hf_transaction_state.HF_TRANSACTION_FAILED
        }
    }
}

@_cdecl("hf_transaction_free") @implementation
public func hf_transaction_free(_ transaction: OpaquePointer?) {
    // A cursor may still refer to it.
    guard let transaction = HandleTable.remove(transaction, as: Transaction.self) else { return }
    HandleMap.forget(transaction)
    transaction.abandon()
}

@_cdecl("hf_store_transact") @implementation
public func hf_store_transact(
    _ store: OpaquePointer?, _ body: hf_transaction_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ options: UnsafePointer<CChar>?, _ out_receipt: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        guard let body else { throw HoldfastError(.invalidArgument, "body is NULL: pass the function to run") }
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            let options = try TransactionOptions(json: HoldfastABI.options(options), allowsAttempts: true)
            let receipt = try store.transact(options) { transaction throws(HoldfastError) in
                var error: OpaquePointer?
                let answer = try lend(transaction) { handle throws(HoldfastError) in
                    status(of: body) { body(handle, user_data, &error) }
                }
                try accept(answer, error, "the transaction's body answered")
            }
            if let out_receipt {
                try markingStored(true) { () throws(HoldfastError) in try fill(out_receipt, with: receipt.json) }
            }
        }
    }
}
