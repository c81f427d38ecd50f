public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastServices

@_cdecl("hf_repository_create_index") @implementation
public func hf_repository_create_index(
    _ repository: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ progress: hf_index_progress_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ out_error: OutError?
) -> hf_status {
    answer(repository, out_error) { (repository: Repository) throws(HoldfastError) in
        try repository.createIndex(HoldfastABI.options(options)) { done in
            guard let progress else { return true }
            return consent(of: progress) { progress(done, user_data) }
        }
    }
}

@_cdecl("hf_repository_drop_index") @implementation
public func hf_repository_drop_index(
    _ repository: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let name = try text(name, "name")
        try HandleTable.use(repository) { (repository: Repository) throws(HoldfastError) in
            try repository.dropIndex(name)
        }
    }
}

@_cdecl("hf_repository_indexes") @implementation
public func hf_repository_indexes(
    _ repository: OpaquePointer?, _ out_indexes: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(repository, out_indexes, "out_indexes", out_error) { (repository: Repository) throws(HoldfastError) in
        try repository.indexes()
    }
}

@_cdecl("hf_repository_explain") @implementation
public func hf_repository_explain(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ options: UnsafePointer<CChar>?, _ out_report: UnsafeMutablePointer<hf_buffer>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_report, "out_report", out_error) { () throws(HoldfastError) in
        try query(
            repository, transaction, filter, filter_length, options,
            for: .find, and: .distinct
        ) { repository, filter, options, transaction throws(HoldfastError) in
            try repository.explain(filter, options, in: transaction)
        }
    }
}

@_cdecl("hf_repository_verify") @implementation
public func hf_repository_verify(
    _ repository: OpaquePointer?, _ out_report: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(repository, out_report, "out_report", out_error) { (repository: Repository) throws(HoldfastError) in
        try repository.verify()
    }
}
