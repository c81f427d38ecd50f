public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// Runs `body` with a compiled pipeline and its options.
private func aggregate<Result>(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ pipeline: UnsafePointer<CChar>?, _ length: Int,
    _ options: UnsafePointer<CChar>?,
    _ body: (Repository, Pipeline, AggregationOptions, Transaction?) throws(HoldfastError) -> Result
) throws(HoldfastError) -> Result {
    try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
        let options = try AggregationOptions(json: HoldfastABI.options(options))
        let pipeline = try repository.pipeline(bytes(pipeline, length, "pipeline"), options)
        return try body(repository, pipeline, options, transaction)
    }
}

@_cdecl("hf_repository_aggregate") @implementation
public func hf_repository_aggregate(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ pipeline: UnsafePointer<CChar>?,
    _ pipeline_length: Int, _ options: UnsafePointer<CChar>?, _ out_documents: UnsafeMutablePointer<hf_buffer>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_documents, "out_documents", out_error) { () throws(HoldfastError) in
        try aggregate(repository, transaction, pipeline, pipeline_length, options) {
            repository, pipeline, options, transaction throws(HoldfastError) in
            try repository.aggregate(pipeline, options, in: transaction)
        }
    }
}

@_cdecl("hf_repository_explain_aggregate") @implementation
public func hf_repository_explain_aggregate(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ pipeline: UnsafePointer<CChar>?,
    _ pipeline_length: Int, _ options: UnsafePointer<CChar>?, _ out_report: UnsafeMutablePointer<hf_buffer>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_report, "out_report", out_error) { () throws(HoldfastError) in
        try aggregate(repository, transaction, pipeline, pipeline_length, options) {
            repository, pipeline, options, transaction throws(HoldfastError) in
            try repository.explain(pipeline, options, in: transaction)
        }
    }
}

@_cdecl("hf_stream_open_aggregate") @implementation
public func hf_stream_open_aggregate(
    _ repository: OpaquePointer?, _ pipeline: UnsafePointer<CChar>?, _ pipeline_length: Int,
    _ options: UnsafePointer<CChar>?, _ on_event: hf_event_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
    _ out_stream: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    openStream(on_event, user_data, free_user_data, out_stream, out_error) { observer throws(HoldfastError) in
        try aggregate(repository, nil, pipeline, pipeline_length, options) {
            repository, pipeline, options, _ throws(HoldfastError) in
            try repository.openLiveAggregation(pipeline, options, observer)
        }
    }
}
