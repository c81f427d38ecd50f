package import HoldfastEnvironment
package import HoldfastQuery
package import HoldfastStorage

/// What the library keeps about a store in the store: numbers by name, in a repository whose name no host can take, so that
/// they change together with entities, or not at all.
///
///     schema           the version of the program's schema
///     import/NAME/SEQUENCE
///                      after which commit nobody had a sequence up to this one when the import that is resumed under the
///                      name took them for the versions of its entities
extension Store {
    static let systemRepository = "holdfast_system"

    package func openSystemRepository() throws(HoldfastError) -> Repository {
        if catalogue.find(Self.systemRepository) == nil {
            do throws(HoldfastError) {
                _ = try queue.commit(
                    Commit(.createRepository(name: Self.systemRepository, key: "id"), isDurable: true))
            } catch {
                guard error.status == .exists else { throw error }
            }
            try refreshCatalogue()
        }
        guard let record = catalogue.find(Self.systemRepository) else {
            throw HoldfastError(.internal, "the library's own repository was created and cannot be found")
        }
        return Repository(store: self, record: record)
    }

    package static func systemEntity(_ id: String, _ value: Int64) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("id", id)
            writer.member("value", value)
        }
    }

    package static func systemValue(in body: UnsafeRawBufferPointer) throws(HoldfastError) -> Int64 {
        guard case .object(let members) = try JSONValue.parse(body, what: "record"),
            case .integer(let value) = members.first(where: { $0.name.elementsEqual("value".utf8) })?.value
        else { throw HoldfastError(.corrupt, "a record of the library's own is damaged: restore a backup") }
        return value
    }

    /// The number that is kept there, if one is.
    package func systemValue(of key: EntityKey) throws(HoldfastError) -> Int64? {
        try read { snapshot throws(HoldfastError) in try systemValue(of: key, on: snapshot) }
    }

    private func systemValue(of key: EntityKey, on snapshot: any StorageSnapshot) throws(HoldfastError) -> Int64? {
        var value: Int64?
        _ = try snapshot.fetch(key) { view throws(HoldfastError) in value = try Self.systemValue(in: view.body) }
        return value
    }

    /// The number under this name, which is there from now on.
    package func systemRecord(
        _ name: String, initially value: Int64, _ options: TransactionOptions = TransactionOptions()
    ) throws(HoldfastError) -> Int64 {
        let system = try openSystemRepository()
        let id = EntityID(unchecked: Array(name.utf8))
        var result = value
        _ = try transact(options) { transaction throws(HoldfastError) in
            var found: Int64?
            _ = try transaction.fetch(system.key(id)) { _, body throws(HoldfastError) in
                found = try Self.systemValue(in: body)
            }
            result = found ?? value
            guard found == nil else { return }
            _ = try Self.systemEntity(name, value).withBytes { entity throws(HoldfastError) in
                try system.perform(WriteCall(.save, nil, entity), in: transaction)
            }
        }
        return result
    }

    // MARK: The schema's version

    package static let schema = EntityID(unchecked: Array("schema".utf8))

    package func knownSchemaVersion() throws(HoldfastError) -> Int64? {
        try read { snapshot throws(HoldfastError) in try schemaVersion(on: snapshot) }
    }

    package func schemaVersion(on snapshot: any StorageSnapshot) throws(HoldfastError) -> Int64? {
        guard let system = catalogue.find(Self.systemRepository) else { return nil }
        return try systemValue(of: EntityKey(system.id, Self.schema), on: snapshot)
    }
}
