public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment

@_cdecl("hf_operation_create") @implementation
public func hf_operation_create(
    _ store: OpaquePointer?, _ description: UnsafePointer<CChar>?, _ length: Int,
    _ out_operation: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_operation, "out_operation", out_error) { (store: Store) throws(HoldfastError) in
        let operation = try Operation(store, describedBy: bytes(description, length, "description"))
        return try HandleTable.insert(operation)
    }
}

@_cdecl("hf_operation_create_on") @implementation
public func hf_operation_create_on(
    _ store: OpaquePointer?, _ description: UnsafePointer<CChar>?, _ length: Int,
    _ repositories: UnsafePointer<OpaquePointer?>?, _ count: Int,
    _ out_operation: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_operation, "out_operation", out_error) { (store: Store) throws(HoldfastError) in
        let operation = try Operation(store, describedBy: bytes(description, length, "description")) {
            number throws(HoldfastError) in
            guard number >= 0 && number < count else { return nil }
            guard let repositories else {
                throw HoldfastError(.invalidArgument, "repositories is NULL: pass as many handles as count says")
            }
            return try HandleTable.use(repositories[Int(number)]) { (repository: Repository) throws(HoldfastError) in
                guard repository.store === store else {
                    throw HoldfastError(
                        .invalidArgument,
                        "the repository \"\(repository.name)\" belongs to another store than the operation")
                }
                return repository
            }
        }
        return try HandleTable.insert(operation)
    }
}

@_cdecl("hf_operation_create_get") @implementation
public func hf_operation_create_get(
    _ store: OpaquePointer?, _ repository: UnsafePointer<CChar>?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
    _ out_operation: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_operation, "out_operation", out_error) { (store: Store) throws(HoldfastError) in
        let (repository, key) = (try text(repository, "repository"), try entityID(key, key_length))
        return try HandleTable.insert(Operation.get(key, in: repository, of: store))
    }
}

@_cdecl("hf_operation_create_put") @implementation
public func hf_operation_create_put(
    _ store: OpaquePointer?, _ repository: UnsafePointer<CChar>?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
    _ value: UnsafePointer<CChar>?, _ length: Int, _ out_operation: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_error: OutError?
) -> hf_status {
    answer(store, out_operation, "out_operation", out_error) { (store: Store) throws(HoldfastError) in
        let (repository, key) = (try text(repository, "repository"), try entityID(key, key_length))
        let value = try optionalBytes(value, length, "value")
        return try HandleTable.insert(Operation.put(value, under: key, in: repository, of: store))
    }
}

@_cdecl("hf_operation_create_remove") @implementation
public func hf_operation_create_remove(
    _ store: OpaquePointer?, _ repository: UnsafePointer<CChar>?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
    _ out_operation: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_operation, "out_operation", out_error) { (store: Store) throws(HoldfastError) in
        let (repository, key) = (try text(repository, "repository"), try entityID(key, key_length))
        return try HandleTable.insert(Operation.remove(key, in: repository, of: store))
    }
}

/// A function of the host's as an operation.
private final class HostFunction: UserData, OperationFunction, @unchecked Sendable {
    // Sendable: immutable; the header tells the host on which threads it is called.
    private let function: hf_operation_fn

    init(_ function: @escaping hf_operation_fn, _ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?) {
        self.function = function
        super.init(pointer, destructor)
    }

    func run(in transaction: Transaction) throws(HoldfastError) -> [UInt8] {
        var result = hf_buffer()
        var status = hf_status.HF_OK
        var error: OpaquePointer?
        defer { hf_buffer_free(&result) }
        try lend(transaction) { handle throws(HoldfastError) in
            let isSame = isSameProcess {
                status = HoldfastABI.status(of: function) { function(handle, &result, pointer, &error) }
            }
            guard isSame else { throw HoldfastError(.forked, "the operation's function forked") }
        }
        try accept(status, error, "the operation's function answered")
        return try Array(asking: UnsafeRawBufferPointer(start: result.data, count: result.length))
    }
}

@_cdecl("hf_operation_create_function") @implementation
public func hf_operation_create_function(
    _ store: OpaquePointer?, _ function: hf_operation_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ options: UnsafePointer<CChar>?,
    _ out_operation: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    // Freed with the last reference, also when this fails.
    let userData = UserData(user_data, function == nil ? free_user_data : nil)
    defer { userData.end() }
    return answer(out_error) { () throws(HoldfastError) in
        guard let function else { throw HoldfastError(.invalidArgument, "function is NULL: pass the function to run") }
        let hostFunction = HostFunction(function, user_data, free_user_data)
        let result = try required(out_operation, "out_operation")
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            let options = try TransactionOptions(json: HoldfastABI.options(options), allowsAttempts: true)
            result.pointee = try HandleTable.insert(Operation(store, hostFunction, options: options))
        }
    }
}

@_cdecl("hf_operation_perform") @implementation
public func hf_operation_perform(
    _ operation: OpaquePointer?, _ transaction: OpaquePointer?, _ out_result: UnsafeMutablePointer<hf_entity>?,
    _ out_receipt: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        try HandleTable.use(operation, in: transaction) {
            (operation: Operation, transaction: Transaction?) throws(HoldfastError) in
            let value = try operation.perform(in: transaction)
            try markingStored(value.receipt != nil) { () throws(HoldfastError) in
                try fill(out_result, out_receipt, with: value)
            }
        }
    }
}

/// Starts a run that `observer` hears of; its future goes to whoever wants it.
private func start(
    _ operation: OpaquePointer?, _ transaction: OpaquePointer?, _ observer: HostObserver?, isSubscriber: Bool = false,
    _ out_future: OutFuture?, _ out_error: OutError?
) -> hf_status {
    let status = answer(out_error) { () throws(HoldfastError) in
        out_future?.pointee = nil
        try HandleTable.use(operation, in: transaction) {
            (operation: Operation, transaction: Transaction?) throws(HoldfastError) in
            _ = try operation.start(in: transaction, observer: observer, isSubscriber: isSubscriber) {
                future throws(HoldfastError) in
                if let out_future { out_future.pointee = try HandleTable.insert(future) }
            }
        }
    }
    if status != hf_status.HF_OK { observer?.end() }
    return status
}

@_cdecl("hf_operation_start") @implementation
public func hf_operation_start(
    _ operation: OpaquePointer?, _ transaction: OpaquePointer?,
    _ out_future: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status { start(operation, transaction, nil, out_future, out_error) }

@_cdecl("hf_operation_submit") @implementation
public func hf_operation_submit(
    _ operation: OpaquePointer?, _ transaction: OpaquePointer?, _ on_end: hf_event_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
    _ out_future: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    start(operation, transaction, HostObserver(on_end, user_data, free_user_data), out_future, out_error)
}

@_cdecl("hf_operation_subscribe") @implementation
public func hf_operation_subscribe(
    _ operation: OpaquePointer?, _ transaction: OpaquePointer?, _ on_event: hf_event_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
    _ out_future: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    start(
        operation, transaction, HostObserver(on_event, user_data, free_user_data), isSubscriber: true, out_future,
        out_error)
}

@_cdecl("hf_operation_free") @implementation
public func hf_operation_free(_ operation: OpaquePointer?) {
    _ = HandleTable.remove(operation, as: Operation.self)
}
