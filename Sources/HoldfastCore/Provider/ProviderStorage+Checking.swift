/// What a provider gives is checked before it is believed.
extension ProviderStorage {
    private static let limits = PayloadLimits(maxBytes: .max, maxDepth: 200)

    /// Lends an entity, without white space around it, to `body`. Throws `.corrupt` for what is no entity of this id.
    func lend<Result>(
        _ text: [UInt8], _ id: EntityID, version: CommitSequence, in repository: RepositoryRecord,
        _ body: (EntityView) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try text.withBytes { bytes throws(HoldfastError) in
            let entity = checksEntities ? try Self.checked(bytes, id, in: repository) : bytes
            return try id.bytes.withBytes { id throws(HoldfastError) in
                try body(EntityView(id: id, version: version, body: entity))
            }
        }
    }

    private static func checked(
        _ bytes: UnsafeRawBufferPointer, _ id: EntityID, in repository: RepositoryRecord
    ) throws(HoldfastError) -> UnsafeRawBufferPointer {
        let payload: EntityPayload
        do throws(HoldfastError) {
            _ = try id.bytes.withBytes { id throws(HoldfastError) in try EntityID(checking: id) }
            payload = try EntityPayload(bytes, key: repository.key, limits: limits)
        } catch {
            if error.status == .noMemory { throw error }
            throw corrupt(repository.name, id, error.message, cause: error)
        }
        guard payload.id == id else {
            let found = payload.id.map { "the entity \"\($0.text)\"" } ?? "an object without \"\(repository.key)\""
            throw corrupt(repository.name, id, "it is \(found)")
        }
        return payload.text
    }

    static func corrupt(
        _ repository: String, _ id: EntityID, _ reason: String, cause: HoldfastError? = nil
    ) -> HoldfastError {
        HoldfastError(
            .corrupt,
            "what the provider gave for \(repository) \"\(id.text)\" cannot be used: \(reason); mend it where it lies, or save "
                + "the entity anew", detail: [("repository", .text(repository)), ("id", .text(id.text))], cause: cause)
    }
}
