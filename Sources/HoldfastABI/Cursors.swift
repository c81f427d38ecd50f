public import CHoldfast
internal import HoldfastCore

@_cdecl("hf_cursor_open") @implementation
public func hf_cursor_open(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ options: UnsafePointer<CChar>?, _ out_cursor: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let result = try required(out_cursor, "out_cursor")
        let filter = try parse(filter, filter_length)
        let (skip, limit) = try FindOptions.read(HoldfastABI.options(options))
        result.pointee = try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
            try HandleTable.insert(repository.cursor(filter, skip: skip, limit: limit, in: transaction), .cursor)
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
        try HandleTable.use(cursor, .cursor, Cursor.self) { cursor throws(HoldfastError) in
            try fill(result, with: cursor.next(count))
        }
    }
}

@_cdecl("hf_cursor_free") @implementation
public func hf_cursor_free(_ cursor: OpaquePointer?) {
    // Its own snapshot goes with it.
    _ = HandleTable.remove(cursor, .cursor, Cursor.self)
}
