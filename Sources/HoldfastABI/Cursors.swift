public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment

@_cdecl("hf_cursor_open") @implementation
public func hf_cursor_open(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ options: UnsafePointer<CChar>?, _ out_cursor: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_cursor, "out_cursor", out_error) { () throws(HoldfastError) in
        try query(
            repository, transaction, filter, filter_length, options,
            for: .find
        ) { repository, filter, options, transaction throws(HoldfastError) in
            try HandleTable.insert(repository.cursor(filter, options, in: transaction))
        }
    }
}

@_cdecl("hf_cursor_next") @implementation
public func hf_cursor_next(
    _ cursor: OpaquePointer?, _ count: UInt64, _ out_entities: UnsafeMutablePointer<hf_entity_list>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let result = try required(out_entities, "out_entities")
        try HandleTable.use(cursor) { (cursor: Cursor) throws(HoldfastError) in
            try cursor.next(count) { entities throws(HoldfastError) in try fill(result, with: entities) }
        }
    }
}

@_cdecl("hf_cursor_free") @implementation
public func hf_cursor_free(_ cursor: OpaquePointer?) {
    // Its own snapshot goes with it.
    _ = HandleTable.remove(cursor, as: Cursor.self)
}
