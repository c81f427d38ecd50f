public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

private typealias OutEntity = UnsafeMutablePointer<hf_entity>
private typealias OutList = UnsafeMutablePointer<hf_entity_list>

/// Runs `body` with the repository and the transaction, which may be NULL.
func useRepository<Result>(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?,
    _ body: (Repository, Transaction?) throws(HoldfastError) -> Result
) throws(HoldfastError) -> Result { try HandleTable.use(repository, in: transaction, body) }

@_cdecl("hf_repository_open") @implementation
public func hf_repository_open(
    _ store: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ options: UnsafePointer<CChar>?,
    _ out_repository: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_repository, "out_repository", out_error) { (store: Store) throws(HoldfastError) in
        let repository = try store.repository(
            text(name, "name"), options: RepositoryOptions(json: HoldfastABI.options(options)))
        return try HandleTable.insert(repository)
    }
}

@_cdecl("hf_repository_name") @implementation
public func hf_repository_name(
    _ repository: OpaquePointer?, _ out_name: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(repository, out_name, "out_name", out_error) { (repository: Repository) throws(HoldfastError) in
        Array(repository.name.utf8)
    }
}

@_cdecl("hf_repository_free") @implementation
public func hf_repository_free(_ repository: OpaquePointer?) {
    _ = HandleTable.remove(repository, as: Repository.self)
}

// MARK: Which there are, dropping, renaming

@_cdecl("hf_store_repositories") @implementation
public func hf_store_repositories(
    _ store: OpaquePointer?, _ out_names: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(store, out_names, "out_names", out_error) { (store: Store) throws(HoldfastError) in
        let names = try store.repositories()
        var writer = JSONWriter()
        writer.beginArray()
        for name in names { writer.string(name) }
        writer.endArray()
        return writer.bytes
    }
}

@_cdecl("hf_store_drop") @implementation
public func hf_store_drop(
    _ store: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let name = try text(name, "name")
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in try store.drop(name) }
    }
}

@_cdecl("hf_store_rename") @implementation
public func hf_store_rename(
    _ store: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ new_name: UnsafePointer<CChar>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let (name, newName) = (try text(name, "name"), try text(new_name, "new_name"))
        try HandleTable.use(store) { (store: Store) throws(HoldfastError) in try store.rename(name, to: newName) }
    }
}

// MARK: Writing one

/// The shape of every call that writes one entity.
private func write(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ out_entity: OutEntity?, _ out_error: OutError?,
    _ call: () throws(HoldfastError) -> WriteCall
) -> hf_status {
    answerWrite(transaction, out_error) { () throws(HoldfastError) in
        let entity = try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
            try repository.perform(call(), in: transaction)
        }
        guard let out_entity else { return }
        try markingStored(transaction == nil) { () throws(HoldfastError) in
            try entity.body.withBytes { bytes throws(HoldfastError) in
                try fill(out_entity, with: bytes, version: entity.version)
            }
        }
    }
}

@_cdecl("hf_repository_add") @implementation
public func hf_repository_add(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ entity: UnsafePointer<CChar>?, _ length: Int,
    _ out_entity: UnsafeMutablePointer<hf_entity>?, _ out_error: OutError?
) -> hf_status {
    write(repository, transaction, out_entity, out_error) { () throws(HoldfastError) in
        WriteCall(.add, nil, try bytes(entity, length, "entity"))
    }
}

@_cdecl("hf_repository_update") @implementation
public func hf_repository_update(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ entity: UnsafePointer<CChar>?, _ length: Int,
    _ expected_version: UInt64, _ out_entity: UnsafeMutablePointer<hf_entity>?, _ out_error: OutError?
) -> hf_status {
    write(repository, transaction, out_entity, out_error) { () throws(HoldfastError) in
        WriteCall(.update, nil, try bytes(entity, length, "entity"), expectedVersion: expected_version)
    }
}

@_cdecl("hf_repository_save") @implementation
public func hf_repository_save(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ entity: UnsafePointer<CChar>?, _ length: Int,
    _ out_entity: UnsafeMutablePointer<hf_entity>?, _ out_error: OutError?
) -> hf_status {
    write(repository, transaction, out_entity, out_error) { () throws(HoldfastError) in
        WriteCall(.save, nil, try bytes(entity, length, "entity"))
    }
}

@_cdecl("hf_repository_patch") @implementation
public func hf_repository_patch(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ id_length: Int,
    _ patch: UnsafePointer<CChar>?, _ patch_length: Int, _ expected_version: UInt64,
    _ out_entity: UnsafeMutablePointer<hf_entity>?, _ out_error: OutError?
) -> hf_status {
    write(repository, transaction, out_entity, out_error) { () throws(HoldfastError) in
        WriteCall(
            .patch, try entityID(id, id_length), try bytes(patch, patch_length, "patch"),
            expectedVersion: expected_version)
    }
}

@_cdecl("hf_repository_modify") @implementation
public func hf_repository_modify(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ id_length: Int,
    _ update: UnsafePointer<CChar>?, _ update_length: Int, _ initial: UnsafePointer<CChar>?, _ initial_length: Int,
    _ expected_version: UInt64, _ out_entity: UnsafeMutablePointer<hf_entity>?, _ out_error: OutError?
) -> hf_status {
    write(repository, transaction, out_entity, out_error) { () throws(HoldfastError) in
        WriteCall(
            .modify, try entityID(id, id_length), try bytes(update, update_length, "update"),
            initial: try optionalBytes(initial, initial_length, "initial"), expectedVersion: expected_version)
    }
}

@_cdecl("hf_repository_delete") @implementation
public func hf_repository_delete(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ id_length: Int,
    _ expected_version: UInt64, _ out_error: OutError?
) -> hf_status {
    write(repository, transaction, nil, out_error) { () throws(HoldfastError) in
        WriteCall(.delete, try entityID(id, id_length), expectedVersion: expected_version)
    }
}

// MARK: Lists: writing many, and reading

/// The shape of every call that writes many, whose echo may be unwanted.
private func writeMany(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ out_entities: OutList?, _ out_error: OutError?,
    _ call: () throws(HoldfastError) -> WriteCall
) -> hf_status {
    answerWrite(transaction, out_error) { () throws(HoldfastError) in
        let entities = try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
            try repository.performMany(call(), in: transaction, echoing: out_entities != nil)
        }
        if let out_entities {
            try markingStored(transaction == nil) { () throws(HoldfastError) in
                try fill(out_entities, with: entities)
            }
        }
    }
}

@_cdecl("hf_repository_add_many") @implementation
public func hf_repository_add_many(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ entities: UnsafePointer<CChar>?, _ length: Int,
    _ out_entities: UnsafeMutablePointer<hf_entity_list>?, _ out_error: OutError?
) -> hf_status {
    writeMany(repository, transaction, out_entities, out_error) { () throws(HoldfastError) in
        WriteCall(.addMany, nil, try bytes(entities, length, "entities"))
    }
}

@_cdecl("hf_repository_update_many") @implementation
public func hf_repository_update_many(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ entities: UnsafePointer<CChar>?, _ length: Int,
    _ out_entities: UnsafeMutablePointer<hf_entity_list>?, _ out_error: OutError?
) -> hf_status {
    writeMany(repository, transaction, out_entities, out_error) { () throws(HoldfastError) in
        WriteCall(.updateMany, nil, try bytes(entities, length, "entities"))
    }
}

@_cdecl("hf_repository_save_many") @implementation
public func hf_repository_save_many(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ entities: UnsafePointer<CChar>?, _ length: Int,
    _ out_entities: UnsafeMutablePointer<hf_entity_list>?, _ out_error: OutError?
) -> hf_status {
    writeMany(repository, transaction, out_entities, out_error) { () throws(HoldfastError) in
        WriteCall(.saveMany, nil, try bytes(entities, length, "entities"))
    }
}

@_cdecl("hf_repository_patch_many") @implementation
public func hf_repository_patch_many(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ patches: UnsafePointer<CChar>?, _ length: Int,
    _ out_entities: UnsafeMutablePointer<hf_entity_list>?, _ out_error: OutError?
) -> hf_status {
    writeMany(repository, transaction, out_entities, out_error) { () throws(HoldfastError) in
        WriteCall(.patchMany, nil, try bytes(patches, length, "patches"))
    }
}

@_cdecl("hf_repository_delete_many") @implementation
public func hf_repository_delete_many(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ ids: UnsafePointer<CChar>?, _ length: Int,
    _ out_error: OutError?
) -> hf_status {
    writeMany(repository, transaction, nil, out_error) { () throws(HoldfastError) in
        WriteCall(.deleteMany, nil, try bytes(ids, length, "ids"))
    }
}

@_cdecl("hf_repository_fetch") @implementation
public func hf_repository_fetch(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ id_length: Int,
    _ out_entity: UnsafeMutablePointer<hf_entity>?, _ out_error: OutError?
) -> hf_status {
    answerStatus(out_error) { () throws(HoldfastError) in
        let result = try required(out_entity, "out_entity")
        return try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
            let bytes = try bytes(id, id_length, "id")
            func take(_ version: CommitSequence, _ body: UnsafeRawBufferPointer) throws(HoldfastError) {
                try fill(result, with: body, version: version)
            }
            // What is cached has an id, so these bytes need not be checked, or copied, before they are found there.
            if transaction == nil, try repository.lendCached(bytes, take) { return hf_status.HF_OK }
            let isFound = try repository.fetch(EntityID(checking: bytes), in: transaction, take)
            return isFound ? hf_status.HF_OK : hf_status.HF_NOT_FOUND
        }
    }
}

@_cdecl("hf_repository_fetch_many") @implementation
public func hf_repository_fetch_many(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ ids: UnsafePointer<CChar>?, _ length: Int,
    _ out_entities: UnsafeMutablePointer<hf_entity_list>?, _ out_error: OutError?
) -> hf_status {
    answer(out_entities, "out_entities", out_error) { () throws(HoldfastError) in
        try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
            try repository.fetchMany(bytes(ids, length, "ids"), in: transaction)
        }
    }
}

@_cdecl("hf_repository_fetch_all") @implementation
public func hf_repository_fetch_all(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?,
    _ out_entities: UnsafeMutablePointer<hf_entity_list>?, _ out_error: OutError?
) -> hf_status {
    answer(out_entities, "out_entities", out_error) { () throws(HoldfastError) in
        try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
            try repository.fetchAll(in: transaction)
        }
    }
}

@_cdecl("hf_repository_contains") @implementation
public func hf_repository_contains(
    _ repository: OpaquePointer?, _ transaction: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ id_length: Int,
    _ out_contains: UnsafeMutablePointer<Bool>?, _ out_error: OutError?
) -> hf_status {
    answer(out_contains, "out_contains", out_error) { () throws(HoldfastError) in
        try useRepository(repository, transaction) { repository, transaction throws(HoldfastError) in
            try repository.contains(entityID(id, id_length), in: transaction)
        }
    }
}
