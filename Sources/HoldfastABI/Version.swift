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

@_cdecl("hf_feature_available") @implementation
public func hf_feature_available(_ name: UnsafePointer<CChar>?) -> Bool {
    guard let name, let name = String(validatingCString: name) else { return false }
    let features = [
        "provider", "queue_delivery", "idempotency", "savepoints", "filters", "updates", "object_trees",
    ]
    return (StoreURL.engines + features).contains(name)
}
