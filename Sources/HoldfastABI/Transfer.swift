public import CHoldfast
internal import HoldfastCore
internal import HoldfastEngines
internal import HoldfastEnvironment
internal import HoldfastServices

@_cdecl("hf_store_export") @implementation
public func hf_store_export(
    _ store: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ write: hf_write_fn?, _ progress: hf_progress_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ out_report: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        guard let write else { throw HoldfastError(.invalidArgument, "write is NULL: pass what takes the lines") }
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            let options = try ExportOptions(json: HoldfastABI.options(options))
            let report = try store.export(options) { lines throws(HoldfastError) in
                guard let start = lines.baseAddress else { return }
                var error: OpaquePointer?
                let answer = status(of: write) {
                    write(start.assumingMemoryBound(to: CChar.self), lines.count, user_data, &error)
                }
                try accept(answer, error, "the export's write function answered")
            } progress: { done, total throws(HoldfastError) in
                try HoldfastABI.progress(progress, user_data)(done, total)
            }
            try fill(out_report, withReport: report)
        }
    }
}

@_cdecl("hf_store_import") @implementation
public func hf_store_import(
    _ store: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ read: hf_read_fn?, _ progress: hf_progress_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ out_report: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        guard let read else { throw HoldfastError(.invalidArgument, "read is NULL: pass what gives the lines") }
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            let options = try ImportOptions(json: HoldfastABI.options(options))
            let report = try store.importLines(options) { buffer throws(HoldfastError) in
                var error: OpaquePointer?
                let count = number(of: read, or: -1) {
                    read(buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count, user_data, &error)
                }
                let own = taken(error)
                guard (0...Int64(buffer.count)).contains(count) else {
                    throw own
                        ?? HoldfastError(
                            .hostError, "the import's read function answered \(count)",
                            detail: [("code", .json(Array(String(count).utf8)))])
                }
                return Int(count)
            } progress: { done, total throws(HoldfastError) in
                try HoldfastABI.progress(progress, user_data)(done, total)
            }
            try fill(out_report, withReport: report)
        }
    }
}

@_cdecl("hf_store_import_table") @implementation
public func hf_store_import_table(
    _ store: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ table: UnsafePointer<CChar>?,
    _ options: UnsafePointer<CChar>?, _ progress: hf_progress_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ out_report: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let (path, table) = (try text(path, "path"), try text(table, "table"))
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            let options = try TableImportOptions(json: HoldfastABI.options(options))
            let report = try store.importTable(table, of: path, options, HoldfastABI.progress(progress, user_data))
            try fill(out_report, withReport: report)
        }
    }
}
