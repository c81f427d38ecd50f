public import CHoldfast
internal import HoldfastCore
internal import HoldfastEngines
internal import HoldfastEnvironment
internal import HoldfastServices
internal import HoldfastStorage

/// A host's progress callback, or none, as the core calls it.
func progress(_ callback: hf_progress_fn?, _ user_data: UnsafeMutableRawPointer?) -> Progress {
    { done, total in
        guard let callback else { return true }
        return consent(of: callback) { callback(done, total, user_data) }
    }
}

func fill(_ buffer: UnsafeMutablePointer<hf_buffer>?, withReport report: [UInt8]) throws(HoldfastError) {
    if let buffer { try fill(buffer, with: report) }
}

@_cdecl("hf_store_backup") @implementation
public func hf_store_backup(
    _ store: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ progress: hf_progress_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ out_report: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let path = try text(path, "path")
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            try fill(out_report, withReport: store.backUp(to: path, HoldfastABI.progress(progress, user_data)))
        }
    }
}

@_cdecl("hf_store_restore") @implementation
public func hf_store_restore(
    _ backup: UnsafePointer<CChar>?, _ url: UnsafePointer<CChar>?, _ options: UnsafePointer<CChar>?,
    _ progress: hf_progress_fn?, _ user_data: UnsafeMutableRawPointer?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        try StoreURL.restore(
            from: text(backup, "backup"), to: text(url, "url"), RestoreOptions(json: HoldfastABI.options(options)),
            HoldfastABI.progress(progress, user_data))
    }
}

@_cdecl("hf_store_verify") @implementation
public func hf_store_verify(
    _ store: OpaquePointer?, _ progress: hf_progress_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ out_report: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_report, "out_report", out_error) { (store: Store) throws(HoldfastError) in
        try store.verify(HoldfastABI.progress(progress, user_data))
    }
}

@_cdecl("hf_store_compact") @implementation
public func hf_store_compact(
    _ store: OpaquePointer?, _ out_report: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_error) { (store: Store) throws(HoldfastError) in
        try fill(out_report, withReport: store.compact())
    }
}

@_cdecl("hf_store_upgrade") @implementation
public func hf_store_upgrade(
    _ store: OpaquePointer?, _ version: Int64, _ upgrade: hf_upgrade_fn?, _ options: UnsafePointer<CChar>?,
    _ progress: hf_progress_fn?, _ user_data: UnsafeMutableRawPointer?, _ out_report: UnsafeMutablePointer<hf_buffer>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        guard Store.schemaVersions.contains(version) else {
            throw HoldfastError(.invalidArgument, "the version is \(version): give 0 to 2147483648")
        }
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in
            let options = try UpgradeOptions(json: HoldfastABI.options(options))
            let report = try store.upgrade(to: version, options) { transaction, from, to throws(HoldfastError) in
                guard let upgrade else {
                    throw HoldfastError(.invalidArgument, "upgrade is NULL, and the store has version \(from)")
                }
                var error: OpaquePointer?
                let answer = try lend(transaction) { handle throws(HoldfastError) in
                    status(of: upgrade) { upgrade(handle, from, to, user_data, &error) }
                }
                try accept(answer, error, "the upgrade from version \(from) answered")
            } progress: { done, total throws(HoldfastError) in
                try HoldfastABI.progress(progress, user_data)(done, total)
            }
            try fill(out_report, withReport: report)
        }
    }
}

@_cdecl("hf_store_schema_version") @implementation
public func hf_store_schema_version(
    _ store: OpaquePointer?, _ out_version: UnsafeMutablePointer<Int64>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_version, "out_version", out_error) { (store: Store) throws(HoldfastError) in
        try store.schemaVersion() ?? -1
    }
}
