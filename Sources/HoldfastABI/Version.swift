public import CHoldfast
internal import HoldfastCore
internal import HoldfastEngines
internal import HoldfastEnvironment

@_cdecl("hf_version_select") @implementation
public func hf_version_select(_ api_version: Int32, _ out_error: OutError?) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        guard api_version >= 1 else {
            throw HoldfastError(.invalidArgument, "there is no API version \(api_version): pass HF_API_VERSION")
        }
        guard api_version <= HF_API_VERSION else {
            throw HoldfastError(
                .versionUnsupported,
                "the program was built for API version \(api_version), this library has \(HF_API_VERSION): "
                    + "install a newer libholdfast")
        }
    }
}

@_cdecl("hf_version_text") @implementation
public func hf_version_text() -> UnsafePointer<CChar>? { constantText(libraryVersion) }

@_cdecl("hf_version_number") @implementation
public func hf_version_number() -> Int32 {
    "\(libraryVersion)".split(separator: ".").reduce(0) { $0 * 1000 + (Int32($1) ?? 0) }
}

@_cdecl("hf_feature_available") @implementation
public func hf_feature_available(_ name: UnsafePointer<CChar>?) -> Bool {
    guard let name, let name = String(validatingCString: name) else { return false }
    let features = [
        "provider", "queue_delivery", "idempotency", "savepoints", "scopes", "filters", "updates", "indexes", "cursors",
        "validators", "object_trees", "operations", "futures", "streams", "live_queries", "controllers",
        "cache_policies", "expiry", "maintenance", "upgrades", "transfer", "interrupts", "aggregation", "text_search",
    ]
    return (StoreURL.engines + features).contains(name)
}
