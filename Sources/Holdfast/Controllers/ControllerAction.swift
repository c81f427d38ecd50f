public import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastServices

/// What a ``Controller`` is to do. Each action has a token, under which the state tells what becomes of it; without one given, a
/// new one of its own.
public struct ControllerAction<Entity: Codable & Identifiable & Sendable>: Sendable where Entity.ID: EntityIdentifier {
    private enum Kind {
        case save(Entity)
        case delete(Entity.ID, missingOK: Bool)
        case cancelSave, cancelDelete
        case request(Query<Entity>)
        case cancelRequest
    }

    private let kind: Kind
    /// Names it among others of its kind.
    public let token: String

    /// Stores an entity, new or not.
    public static func save(_ entity: Entity, token: String = UUID().uuidString) -> ControllerAction {
        ControllerAction(kind: .save(entity), token: token)
    }

    /// Deletes the entity of this id. It fails with `.notFound`, unless a missing one is well.
    public static func delete(
        id: Entity.ID, missingOK: Bool = false, token: String = UUID().uuidString
    ) -> ControllerAction { ControllerAction(kind: .delete(id, missingOK: missingOK), token: token) }

    /// Withdraws the saves of this token that are still queued: they fail with `.cancelled`. What is being stored, or has ended,
    /// stays as it is.
    public static func cancelSave(_ token: String) -> ControllerAction {
        ControllerAction(kind: .cancelSave, token: token)
    }

    /// As ``cancelSave(_:)``, of deletes.
    public static func cancelDelete(_ token: String) -> ControllerAction {
        ControllerAction(kind: .cancelDelete, token: token)
    }

    /// Asks for what a query finds, and to be told of changes until it is cancelled. Another request of this token ends first.
    public static func request(_ query: Query<Entity> = .init(), token: String = UUID().uuidString) -> ControllerAction
    {
        ControllerAction(kind: .request(query), token: token)
    }

    /// Ends the request of this token. Where there is none, or it has ended, nothing happens.
    public static func cancelRequest(_ token: String) -> ControllerAction {
        ControllerAction(kind: .cancelRequest, token: token)
    }

    func core(
        _ repository: Repository<Entity>, _ core: HoldfastCore.Repository
    ) throws -> HoldfastServices.ControllerAction {
        let token = try translatingErrors { () throws(CoreError) in
            try Array(self.token.utf8).withBytes { bytes throws(CoreError) in try EntityID(checking: bytes) }
        }
        switch kind {
        case .save(let entity):
            guard case .put(let text) = try repository.write(.save, entity, nil, core).write.action else {
                throw HoldfastError(.internal, "a save is no put")
            }
            return .begin(.save, token, element: text, isMissingAllowed: false)
        case .delete(let id, let missingOK):
            let element = [repository.key: try repository.text(of: id).text]
            let text = try repository.coding.encode(element, what: "id", status: .invalidID)
            return .begin(.delete, token, element: text, isMissingAllowed: missingOK)
        case .cancelSave: return .cancel(.save, token)
        case .cancelDelete: return .cancel(.delete, token)
        case .request(let query): return .request(token, request: try query.json(repository.coding))
        case .cancelRequest: return .cancelRequest(token)
        }
    }
}
