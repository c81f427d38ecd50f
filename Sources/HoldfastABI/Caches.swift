public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment

@_cdecl("hf_repository_invalidate_cache") @implementation
public func hf_repository_invalidate_cache(
    _ repository: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ id_length: Int, _ out_error: OutError?
) -> hf_status {
    answer(repository, out_error) { (repository: Repository) throws(HoldfastError) in
        let id = id == nil && id_length == 0 ? nil : try entityID(id, id_length)
        try repository.invalidateCache(id)
    }
}

@_cdecl("hf_repository_trim_cache") @implementation
public func hf_repository_trim_cache(
    _ repository: OpaquePointer?, _ level: hf_trim_level, _ out_error: OutError?
) -> hf_status {
    answer(repository, out_error) { (repository: Repository) throws(HoldfastError) in
        switch level {
        case .HF_TRIM_WARNING: try repository.trimCache(.warning)
        case .HF_TRIM_CRITICAL: try repository.trimCache(.critical)
        default:
            throw HoldfastError(.invalidArgument, "\(level.rawValue) is no hf_trim_level: pass one of those")
        }
    }
}

@_cdecl("hf_repository_cache_statistics") @implementation
public func hf_repository_cache_statistics(
    _ repository: OpaquePointer?, _ out_statistics: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(repository, out_statistics, "out_statistics", out_error) { (repository: Repository) throws(HoldfastError) in
        try repository.cacheStatistics().json
    }
}

/// A host's clock, with what belongs to it. Its end is the end of its last call, because each call holds it.
private final class HostClockFunction: UserData, HostClock, @unchecked Sendable {
    // Sendable: immutable; the header says that any thread may call it.
    private let function: hf_clock_fn

    init(_ function: @escaping hf_clock_fn, _ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?) {
        self.function = function
        super.init(pointer, destructor)
    }

    func now() -> UInt64 {
        UInt64(bitPattern: number(of: function, or: 0) { Int64(bitPattern: function(pointer)) })
    }
}

@_cdecl("hf_store_set_clock") @implementation
public func hf_store_set_clock(
    _ store: OpaquePointer?, _ clock: hf_clock_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ out_error: OutError?
) -> hf_status {
    // Lets go of the user data by itself when nobody keeps it.
    let host = clock.map { HostClockFunction($0, user_data, free_user_data) }
    if host == nil { free_user_data?(user_data) }
    return answer(store, out_error) { (store: Store) throws(HoldfastError) in try store.setClock(host) }
}
