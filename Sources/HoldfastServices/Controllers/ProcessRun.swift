internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A save or delete of a controller's under way: an operation whose outcome becomes an action.
final class ProcessRun: FutureObserver {
    struct Name: Hashable {
        let process: ControllerAction.Process
        let id: EntityID
    }

    private let controller: Controller
    private let process: ControllerAction.Process
    private let id: EntityID
    private let element: [UInt8]

    init(_ controller: Controller, _ process: ControllerAction.Process, _ id: EntityID, _ element: [UInt8]) {
        self.controller = controller
        self.process = process
        self.id = id
        self.element = element
    }

    var isHost: Bool { false }

    var name: Name { Name(process: process, id: id) }

    /// What it throws has begun nothing.
    func begin(isMissingAllowed: Bool) throws(HoldfastError) {
        let repository = controller.repository
        let operation =
            switch process {
            case .save: Operation(.save, of: repository, nil, element)
            case .delete:
                Operation(.delete, of: repository, try entityID(in: repository), isMissingAllowed: isMissingAllowed)
            }
        _ = try operation.start(observer: self, waitsForSlot: false) { controller.hasBegun(self, $0) }
    }

    /// Of the element, which is looked at no further.
    private func entityID(in repository: Repository) throws(HoldfastError) -> EntityID {
        let id = try element.withBytes { bytes throws(HoldfastError) in
            try EntityPayload(bytes, key: repository.record.key, limits: repository.store.options.limits).id
        }
        guard let id else {
            throw HoldfastError(
                .invalidEntity, "the element has no \"\(repository.record.key)\": it must name the entity to delete")
        }
        return id
    }

    func completed(_ completion: Completion) {
        switch completion.outcome {
        case .success(let value):
            controller.hasEnded(self)
            controller.tell(
                .succeeded(process, id, element: process == .save ? value.bytes : element, version: value.version))
        case .failure(let error): fail(error)
        }
    }

    func fail(_ error: HoldfastError) {
        controller.hasEnded(self)
        controller.tell(.failed(process, id, element: element, error: error.json))
    }
}
