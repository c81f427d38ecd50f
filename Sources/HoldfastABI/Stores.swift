public import CHoldfast
package import HoldfastCore
internal import HoldfastEngines
package import HoldfastEnvironment
internal import HoldfastQuery

@_cdecl("hf_store_open") @implementation
public func hf_store_open(
    _ url: UnsafePointer<CChar>?, _ options: UnsafePointer<CChar>?, _ out_store: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_error: OutError?
) -> hf_status {
    answerOpening(options, out_store, out_error) { options in
        Result { () throws(HoldfastError) in try StoreURL.open(text(url, "url"), options: options) }
    }
}

/// For every way of opening a store, also those of libraries that add one: the tests'.
package func answerOpening(
    _ options: UnsafePointer<CChar>?, _ out_store: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_error: UnsafeMutablePointer<OpaquePointer?>?,
    _ open: (StoreOptions) -> Result<Store, HoldfastError>
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let result = try required(out_store, "out_store")
        try hand(open(StoreOptions(json: HoldfastABI.options(options))).get(), to: result)
    }
}

/// Gives an opened store its handle.
func hand(_ store: Store, to result: UnsafeMutablePointer<OpaquePointer?>) throws(HoldfastError) {
    do throws(HoldfastError) {
        // The receiver of diagnostics may have forked.
        try store.requireSameProcess()
        result.pointee = try HandleTable.insert(store)
    } catch {
        if error.status == .forked {
            // Kept for ever: taking it down would be the parent's affair.
            _ = Unmanaged.passRetained(store)
        } else {
            _ = try? Interrupt.silently { () throws(HoldfastError) in try store.close(timeoutMilliseconds: nil) }
        }
        throw error
    }
}

@_cdecl("hf_store_close") @implementation
public func hf_store_close(_ store: OpaquePointer?, _ timeout_ms: Int64, _ out_error: OutError?) -> hf_status {
    answerStatus(out_error, alsoInside: true) { () throws(HoldfastError) in
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            try store.close(timeoutMilliseconds: waiting(timeout_ms)) ? hf_status.HF_OK : hf_status.HF_TIMEOUT
        }
    }
}

@_cdecl("hf_store_free") @implementation
public func hf_store_free(_ store: OpaquePointer?) {
    guard let store = HandleTable.remove(store, as: Store.self) else { return }
    // A failure of the last write was logged; nobody is left to be told.
    _ = try? store.close(timeoutMilliseconds: nil)
    store.dropEvents()
}

@_cdecl("hf_store_sync") @implementation
public func hf_store_sync(_ store: OpaquePointer?, _ out_error: OutError?) -> hf_status {
    answer(store, out_error) { (store: Store) throws(HoldfastError) in try store.sync() }
}

@_cdecl("hf_store_events") @implementation
public func hf_store_events(
    _ store: OpaquePointer?, _ events: UnsafeMutablePointer<hf_event>?, _ capacity: Int, _ timeout_ms: Int64
) -> Int32 {
    var count: Int32 = 0
    let status = answerStatus(nil) { () throws(HoldfastError) in
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            try store.requireOutsideProvider()
            guard let events, capacity > 0, store.eventDescriptor != nil else { return hf_status.HF_INVALID_ARGUMENT }
            let limit = min(capacity, Limits.inForce.takenEvents)
            let timeout = try waiting(timeout_ms)
            guard let taken = store.takeEvents(limit: limit, timeoutMilliseconds: timeout) else {
                return hf_status.HF_CLOSED
            }
            for (index, event) in taken.enumerated() {
                (events + index).initialize(to: HostObserver.handOver(event))
            }
            count = Int32(taken.count)
            return hf_status.HF_OK
        }
    }
    return status == hf_status.HF_OK ? count : -Int32(status.rawValue)
}

@_cdecl("hf_store_wake") @implementation
public func hf_store_wake(_ store: OpaquePointer?, _ out_error: OutError?) -> hf_status {
    answer(store, out_error) { (store: Store) throws(HoldfastError) in
        guard store.eventDescriptor != nil else { throw withoutQueue }
        store.wakeTakers()
    }
}

@_cdecl("hf_store_event_fd") @implementation
public func hf_store_event_fd(
    _ store: OpaquePointer?, _ out_descriptor: UnsafeMutablePointer<Int32>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_descriptor, "out_descriptor", out_error) { (store: Store) throws(HoldfastError) in
        guard let descriptor = store.eventDescriptor else { throw withoutQueue }
        return descriptor
    }
}

private let withoutQueue = HoldfastError(
    .unsupported, "the store delivers by callback: open it with \"delivery\": \"queue\" to take events")

@_cdecl("hf_store_describe") @implementation
public func hf_store_describe(
    _ store: OpaquePointer?, _ out_description: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_description, "out_description", out_error) { (store: Store) throws(HoldfastError) in
        try store.describe { writer in
            writer.member("handles") { writer in
                for kind in HandleKind.allCases {
                    writer.member(kind.name)
                    writer.unsigned(UInt64(HandleTable.count(kind)))
                }
            }
        }
    }
}

@_cdecl("hf_handle_count") @implementation
public func hf_handle_count(_ kind: UnsafePointer<CChar>?) -> Int {
    guard let kind else { return HandleTable.count(nil) }
    let name = String(cString: kind)
    return HandleKind.allCases.first { $0.name == name }.map { HandleTable.count($0) } ?? 0
}

/// A timeout in milliseconds; nil for -1, which is for ever.
func waiting(_ milliseconds: Int64) throws(HoldfastError) -> UInt64? {
    if milliseconds == -1 { return nil }
    guard milliseconds >= 0 else {
        throw HoldfastError(
            .invalidArgument, "the timeout is \(milliseconds) ms: pass how long to wait, 0 for not at all, -1 for ever")
    }
    return UInt64(min(milliseconds, 1 << 40))
}
