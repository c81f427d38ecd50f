public import CHoldfast
package import HoldfastCore
package import HoldfastEnvironment
package import HoldfastQuery
internal import HoldfastStorage

/// Runs `body` with a compiled filter, NULL for all, and the query's options.
package func query<Result>(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?, _ length: Int,
    _ options: UnsafePointer<CChar>?, for verb: Verb, and others: QueryOptions.Accepted = [],
    _ body: (Repository, Filter, QueryOptions, Transaction?) throws(HoldfastError) -> Result
) throws(HoldfastError) -> Result {
    try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
        let options = try QueryOptions(
            json: HoldfastABI.options(options), key: repository.record.key, accepting: verb.accepted.union(others))
        let filter = try repository.filter(optionalBytes(filter, length, "filter"), options.parameters)
        return try body(repository, filter, options, transaction)
    }
}

@_cdecl("hf_repository_modify_all") @implementation
public func hf_repository_modify_all(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ update: UnsafePointer<CChar>?, _ update_length: Int, _ options: UnsafePointer<CChar>?,
    _ out_matched: UnsafeMutablePointer<UInt64>?, _ out_modified: UnsafeMutablePointer<UInt64>?,
    _ out_error: OutError?
) -> hf_status {
    answerWrite(transaction, out_error) { () throws(HoldfastError) in
        let counts = try query(repository, transaction, filter, filter_length, options, for: .modifyAll) {
            repository, filter, _, transaction throws(HoldfastError) in
            try repository.modifyAll(filter, bytes(update, update_length, "update"), in: transaction)
        }
        out_matched?.pointee = counts.matched
        out_modified?.pointee = counts.modified
    }
}

@_cdecl("hf_repository_delete_all") @implementation
public func hf_repository_delete_all(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ options: UnsafePointer<CChar>?, _ out_count: UnsafeMutablePointer<UInt64>?,
    _ out_error: OutError?
) -> hf_status {
    answerWrite(transaction, out_error) { () throws(HoldfastError) in
        let count = try query(repository, transaction, filter, filter_length, options, for: .deleteAll) {
            repository, filter, _, transaction throws(HoldfastError) in
            try repository.deleteAll(filter, in: transaction)
        }
        out_count?.pointee = count
    }
}

@_cdecl("hf_repository_find") @implementation
public func hf_repository_find(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ options: UnsafePointer<CChar>?, _ out_entities: UnsafeMutablePointer<hf_entity_list>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_entities, "out_entities", out_error) { () throws(HoldfastError) in
        try query(
            repository, transaction, filter, filter_length, options, for: .find
        ) { repository, filter, options, transaction throws(HoldfastError) in
            try repository.find(filter, options, in: transaction)
        }
    }
}

@_cdecl("hf_repository_first") @implementation
public func hf_repository_first(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ options: UnsafePointer<CChar>?, _ out_entity: UnsafeMutablePointer<hf_entity>?,
    _ out_error: OutError?
) -> hf_status {
    answerStatus(out_error) { () throws(HoldfastError) in
        let result = try required(out_entity, "out_entity")
        let entity = try query(
            repository, transaction, filter, filter_length, options, for: .first
        ) { repository, filter, options, transaction throws(HoldfastError) in
            try repository.first(filter, options, in: transaction)
        }
        guard let entity else { return hf_status.HF_NOT_FOUND }
        try entity.body.withBytes { bytes throws(HoldfastError) in
            try fill(result, with: bytes, version: entity.version)
        }
        return hf_status.HF_OK
    }
}

@_cdecl("hf_repository_count") @implementation
public func hf_repository_count(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ options: UnsafePointer<CChar>?, _ out_count: UnsafeMutablePointer<UInt64>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_count, "out_count", out_error) { () throws(HoldfastError) in
        try query(
            repository, transaction, filter, filter_length, options, for: .count
        ) { repository, filter, options, transaction throws(HoldfastError) in
            try repository.count(filter, options, in: transaction)
        }
    }
}

@_cdecl("hf_repository_exists") @implementation
public func hf_repository_exists(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ filter: UnsafePointer<CChar>?,
    _ filter_length: Int, _ options: UnsafePointer<CChar>?, _ out_exists: UnsafeMutablePointer<Bool>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_exists, "out_exists", out_error) { () throws(HoldfastError) in
        try query(
            repository, transaction, filter, filter_length, options, for: .exists
        ) { repository, filter, options, transaction throws(HoldfastError) in
            try repository.exists(filter, options, in: transaction)
        }
    }
}

@_cdecl("hf_repository_distinct") @implementation
public func hf_repository_distinct(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ filter: UnsafePointer<CChar>?, _ filter_length: Int, _ options: UnsafePointer<CChar>?,
    _ out_values: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_values, "out_values", out_error) { () throws(HoldfastError) in
        let path = try text(path, "path")
        return try query(
            repository, transaction, filter, filter_length, options, for: .distinct
        ) { repository, filter, options, transaction throws(HoldfastError) in
            try repository.distinct(Array(path.utf8), filter, options, in: transaction)
        }
    }
}

@_cdecl("hf_repository_find_if") @implementation
public func hf_repository_find_if(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ predicate: hf_predicate_fn?,
    _ user_data: UnsafeMutableRawPointer?, _ options: UnsafePointer<CChar>?,
    _ out_entities: UnsafeMutablePointer<hf_entity_list>?, _ out_error: OutError?
) -> hf_status {
    answer(out_entities, "out_entities", out_error) { () throws(HoldfastError) in
        guard let predicate else {
            throw HoldfastError(.invalidArgument, "predicate is NULL: pass the function that chooses")
        }
        return try query(
            repository, transaction, nil, 0, options, for: .find
        ) { repository, _, options, transaction throws(HoldfastError) in
            try repository.find(options, in: transaction) { entity throws(HoldfastError) in
                var view = hf_entity_view(
                    id: entity.id.baseAddress!.assumingMemoryBound(to: CChar.self), id_length: entity.id.count,
                    data: entity.body.baseAddress!.assumingMemoryBound(to: CChar.self), length: entity.body.count,
                    version: entity.version)
                return try truth(of: predicate) { predicate(&view, user_data) }
            }
        }
    }
}
