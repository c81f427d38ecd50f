internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastServices

/// What has become of what a ``Controller`` was asked for. What has ended is kept, of each kind the last hundred.
public struct ControllerState<Entity: Codable & Identifiable & Sendable>: Sendable where Entity.ID: EntityIdentifier {
    /// What has become of a request.
    public enum RequestState: Sendable {
        /// Nothing was requested.
        case initial
        /// The first result is not there yet.
        case loading
        /// All entities as they are now, and an error for each that cannot be read.
        case received([Entity], unreadable: [HoldfastError])
        /// Nothing more comes. Nothing is tried again by itself.
        case failed(HoldfastError)
        /// It was cancelled.
        case canceled
    }

    /// What has become of a save, or of a delete.
    public enum ProcessState: Sendable {
        /// Nothing was saved, or deleted.
        case initial
        /// It is not known yet.
        case processing
        /// It is done. Of a save with the version of what is stored.
        case succeeded(version: UInt64)
        /// It was not done.
        case failed(HoldfastError)
    }

    let core: HoldfastServices.ControllerState
    let repository: String
    let coding: EntityCoding

    /// What has become of the request of this token; nil: of the latest.
    public func request(_ token: String? = nil) -> RequestState {
        switch entry(core.requests, token)?.phase {
        case nil: return .initial
        case .loading: return .loading
        case .failed(let error): return .failed(HoldfastError(controllers: error))
        case .canceled: return .canceled
        case .received(_, let found):
            var entities: [Entity] = []
            var unreadable: [HoldfastError] = []
            for one in found {
                do {
                    entities.append(
                        try coding.decode(Entity.self, from: one.body, id: one.id.text, repository: repository))
                } catch { unreadable.append(HoldfastError(wrapping: error)) }
            }
            return .received(entities, unreadable: unreadable)
        }
    }

    /// What has become of the save of this token; nil: of the latest.
    public func save(_ token: String? = nil) -> ProcessState { process(entry(core.saves, token)) }

    /// The entity that the save of this token is about, nil: of the latest: as it was given; once it is saved, as it is stored,
    /// with the id that it was assigned. Nil where there is no such save.
    public func saved(_ token: String? = nil) throws -> Entity? {
        try entry(core.saves, token).map {
            try coding.decode(Entity.self, from: $0.element, id: "", repository: repository)
        }
    }

    /// What has become of the delete of this token; nil: of the latest.
    public func delete(_ token: String? = nil) -> ProcessState { process(entry(core.deletes, token)) }

    private func entry<Entry>(_ ledger: Ledger<Entry>, _ token: String?) -> Entry? {
        (token.map { EntityID(unchecked: Array($0.utf8)) } ?? ledger.latest).flatMap { ledger[$0] }
    }

    private func process(_ entry: HoldfastServices.ControllerState.ProcessEntry?) -> ProcessState {
        switch entry?.phase {
        case nil: .initial
        case .processing: .processing
        case .succeeded(let version): .succeeded(version: version)
        case .failed(let error): .failed(HoldfastError(controllers: error))
        }
    }
}

extension HoldfastError {
    /// As the core's controllers keep it.
    fileprivate init(controllers json: [UInt8]) {
        let told = (try? JSONSerialization.jsonObject(with: Data(json))) as? [String: Any] ?? [:]
        let name = told["status"] as? String
        let status = HoldfastEnvironment.Status.allCases.first { $0.name.description == name } ?? .internal
        let commitState: CommitState =
            switch told["commit_state"] as? String {
            case "unknown": .unknown
            case "done": .done
            default: .none
            }
        let detail = told["detail"].flatMap {
            try? JSONSerialization.data(withJSONObject: $0, options: [.sortedKeys, .withoutEscapingSlashes])
        }
        self.init(
            Status(status), told["message"] as? String ?? "", commitState: commitState,
            detail: Detail(json: detail.map { String(decoding: $0, as: UTF8.self) } ?? "{}"))
    }
}
