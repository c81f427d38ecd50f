public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastStorage

@_cdecl("hf_stream_open") @implementation
public func hf_stream_open(
    _ store: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ on_event: hf_event_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
    _ out_stream: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    openStream(on_event, user_data, free_user_data, out_stream, out_error) { observer throws(HoldfastError) in
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            try store.openStream(StreamOptions(json: HoldfastABI.options(options), for: .stream), observer)
        }
    }
}

@_cdecl("hf_stream_open_query") @implementation
public func hf_stream_open_query(
    _ repository: OpaquePointer?, _ filter: UnsafePointer<CChar>?, _ filter_length: Int,
    _ options: UnsafePointer<CChar>?, _ on_event: hf_event_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
    _ out_stream: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    openStream(on_event, user_data, free_user_data, out_stream, out_error) { observer throws(HoldfastError) in
        try HandleTable.use(repository) { (repository: Repository) throws(HoldfastError) in
            let options = try QueryOptions(
                json: HoldfastABI.options(options), key: repository.record.key,
                accepting: [.sort, .skip, .limit, .fields, .damaged])
            let filter = try repository.filter(
                optionalBytes(filter, filter_length, "filter"), options.parameters)
            return try repository.openLiveQuery(filter, options, observer)
        }
    }
}

/// Opens a stream for the host.
func openStream(
    _ on_event: hf_event_fn?, _ user_data: UnsafeMutableRawPointer?, _ free_user_data: UserData.Destructor?,
    _ out_stream: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?,
    _ body: (HostObserver) throws(HoldfastError) -> ChangeStream
) -> hf_status {
    let observer = HostObserver(on_event, user_data, free_user_data)
    let status = answer(out_error) { () throws(HoldfastError) in
        let result = try required(out_stream, "out_stream")
        result.pointee = nil
        let stream = try body(observer)
        do throws(HoldfastError) {
            result.pointee = try HandleTable.insert(stream)
        } catch {
            stream.cancel()
            throw error
        }
    }
    if status != hf_status.HF_OK { observer.end() }
    return status
}

@_cdecl("hf_stream_acknowledge") @implementation
public func hf_stream_acknowledge(
    _ stream: OpaquePointer?, _ position: UnsafePointer<CChar>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        try HandleTable.use(stream) { (stream: ChangeStream) throws(HoldfastError) in
            try stream.acknowledge(text(position, "position"))
        }
    }
}

@_cdecl("hf_stream_free") @implementation
public func hf_stream_free(_ stream: OpaquePointer?) {
    HandleTable.remove(stream, as: ChangeStream.self)?.cancel()
}

@_cdecl("hf_store_changes_since") @implementation
public func hf_store_changes_since(
    _ store: OpaquePointer?, _ position: UnsafePointer<CChar>?, _ options: UnsafePointer<CChar>?,
    _ out_changes: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_changes, "out_changes", out_error) { () throws(HoldfastError) in
        let position = position == nil ? nil : try text(position, "position")
        return try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            try store.changes(since: position, StreamOptions(json: HoldfastABI.options(options), for: .feed)).json
        }
    }
}

@_cdecl("hf_store_position") @implementation
public func hf_store_position(
    _ store: OpaquePointer?, _ out_position: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_position, "out_position", out_error) { (store: Store) throws(HoldfastError) in
        Array(try store.position().utf8)
    }
}
