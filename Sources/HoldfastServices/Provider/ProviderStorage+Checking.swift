internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What a provider gives is checked before it is believed.
extension ProviderStorage {
    private static let limits = PayloadLimits(maxBytes: .max, maxDepth: 200)

    /// Lends an entity, without white space around it, to `visit`; what is no entity of this id as damaged.
    func lend<Result>(
        _ body: [UInt8], _ id: EntityID, version: CommitSequence, in repository: RepositoryRecord,
        _ visit: (EntityView) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try body.withBytes { bytes throws(HoldfastError) in
            var (entity, damage): (UnsafeRawBufferPointer, String?) = (bytes, nil)
            if checksEntities { (entity, damage) = try Self.checked(bytes, id, in: repository) }
            return try id.bytes.withBytes { id throws(HoldfastError) in
                try visit(EntityView(id: id, version: version, body: entity, damage: damage))
            }
        }
    }

    private static func checked(
        _ bytes: UnsafeRawBufferPointer, _ id: EntityID, in repository: RepositoryRecord
    ) throws(HoldfastError) -> (body: UnsafeRawBufferPointer, damage: String?) {
        do throws(HoldfastError) {
            _ = try id.bytes.withBytes { id throws(HoldfastError) in try EntityID(checking: id) }
            let payload = try EntityPayload(bytes, key: repository.key, limits: limits)
            if payload.id == id { return (payload.body, nil) }
            let found = payload.id.map { "the entity \"\($0.text)\"" } ?? "an object without \"\(repository.key)\""
            return (bytes, "what the provider gave is \(found)")
        } catch {
            if error.status == .noMemory { throw error }
            return (bytes, "what the provider gave cannot be used: \(error.message)")
        }
    }

    static func corrupt(_ repository: String, _ id: EntityID, _ reason: String) -> HoldfastError {
        HoldfastError(
            .corrupt,
            "what the provider gave for \(repository) \"\(id.text)\" cannot be used: \(reason); mend it where it lies, or save "
                + "the entity anew", detail: [("repository", .text(repository)), ("id", .text(id.text))])
    }
}
