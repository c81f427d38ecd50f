internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

extension Repository {
    /// Sets the one function that checks what is about to be stored here through this store, in place of another; nil for
    /// none. What is stored already is not checked, and the function does not outlive the store.
    ///
    ///     try await slices.setValidator { id, slice in
    ///         if let slice, slice.percentage > 100 { throw TooLarge(id) }
    ///     }
    ///
    /// When a transaction commits, it is asked about each entity that was written, in its final state, after the members
    /// of object trees: with the id, and the entity, or nil where it is to be deleted. What it throws refuses the
    /// transaction and comes through unchanged. It may read and write by the blocking calls of repositories, which join
    /// the transaction; what it reads counts as read.
    ///
    /// With it, a write outside a transaction becomes a transaction of its own, which runs again after a conflict. It may
    /// be called on any thread, by several transactions at once.
    public func setValidator(
        _ validator: (@Sendable (_ id: Entity.ID, _ entity: Entity?) throws -> Void)?
    ) async throws {
        let host = validator.map { ValidatorHost(repository: name, coding: coding, validator: $0) }
        let core = try await core()
        try translatingErrors { () throws(CoreError) in try core.setValidator(host) }
    }
}

/// The function that checks a repository's entities.
private final class ValidatorHost<Entity: Codable & Identifiable & Sendable>: EntityValidator
where Entity.ID: EntityIdentifier {
    // Not the repository itself, whose store would keep itself open.
    private let repository: String
    private let coding: EntityCoding
    private let validator: @Sendable (Entity.ID, Entity?) throws -> Void

    init(repository: String, coding: EntityCoding, validator: @escaping @Sendable (Entity.ID, Entity?) throws -> Void) {
        self.repository = repository
        self.coding = coding
        self.validator = validator
    }

    func validate(_ id: EntityID, _ text: [UInt8]?, in transaction: HoldfastCore.Transaction) throws(CoreError) {
        do {
            guard let known = Entity.ID(identifierText: id.text) else {
                throw HoldfastError(.corrupt, "the id \"\(id.text)\" in \"\(repository)\" is no \(Entity.ID.self)")
            }
            let entity = try text.map {
                try coding.decode(Entity.self, from: $0, id: id.text, repository: repository)
            }
            let scope = TransactionScope(transaction, trees: nil)
            try TransactionScope.$current.withValue(scope) { try validator(known, entity) }
        } catch {
            throw CoreError(throwing: error)
        }
    }
}
