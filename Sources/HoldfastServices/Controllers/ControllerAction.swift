public import HoldfastCore
public import HoldfastEnvironment
public import HoldfastQuery

/// What a controller is told: what the host wants, and what has become of it. `controller.h` describes each.
public enum ControllerAction: Sendable {
    /// The two kinds of work that end by themselves.
    public enum Process: Sendable { case save, delete }

    case begin(Process, EntityID, element: [UInt8], isMissingAllowed: Bool)
    /// Withdraws what is still queued, which then fails.
    case cancel(Process, EntityID)
    case succeeded(Process, EntityID, element: [UInt8], version: CommitSequence)
    case failed(Process, EntityID, element: [UInt8], error: [UInt8])

    case request(EntityID, request: [UInt8])
    case cancelRequest(EntityID)
    /// A request's first result, or how it has changed.
    case received(EntityID, ResultChange)
    case requestFailed(EntityID, request: [UInt8], error: [UInt8])

    /// The token or id of those that are given none, and of whom nobody makes one.
    static let defaultID = EntityID(unchecked: Array("default".utf8))

    /// The request that it is about.
    var token: EntityID? {
        switch self {
        case .request(let token, _), .cancelRequest(let token), .received(let token, _),
            .requestFailed(let token, _, _):
            token
        case .begin, .cancel, .succeeded, .failed: nil
        }
    }

    var isCancellation: Bool { if case .cancelRequest = self { true } else { false } }
}

// MARK: JSON

extension ControllerAction {
    fileprivate enum Name: String, CaseIterable {
        case save, delete, cancelSave, cancelDelete, request, cancelRequest
        case saved, saveFailed, deleted, deleteFailed, received, changed, requestFailed
    }

    /// `assigning` makes the token or id of what begins without one; what is to end is named then.
    public init(json: UnsafeRawBufferPointer, assigning: (() -> EntityID)? = nil) throws(HoldfastError) {
        try JSONValue.check(json, what: "action", limits: ControllerState.limits)
        var reader = try PayloadReader(json, what: "action")
        guard let text = try reader.options.text("action", oneOf: Name.allCases.map(\.rawValue)),
            let name = Name(rawValue: text)
        else {
            throw HoldfastError(.invalidOption, "the action has no \"action\"", detail: [("option", .text("action"))])
        }
        switch name {
        case .save: self = try Self.begin(.save, &reader, assigning)
        case .delete: self = try Self.begin(.delete, &reader, assigning)
        case .cancelSave: self = .cancel(.save, try Self.named("id", &reader, isMeant: assigning != nil))
        case .cancelDelete: self = .cancel(.delete, try Self.named("id", &reader, isMeant: assigning != nil))
        case .saved:
            self = .succeeded(
                .save, try Self.id(&reader), element: try Self.element(&reader),
                version: CommitSequence(try reader.count("version") ?? 0))
        case .deleted:
            self = .succeeded(.delete, try Self.id(&reader), element: try Self.element(&reader), version: 0)
        case .saveFailed: self = try Self.failed(.save, &reader)
        case .deleteFailed: self = try Self.failed(.delete, &reader)
        case .request:
            self = .request(
                try reader.id("token") ?? assigning?() ?? Self.defaultID, request: try Self.request(&reader))
        case .cancelRequest: self = .cancelRequest(try Self.named("token", &reader, isMeant: assigning != nil))
        case .received, .changed:
            let ids = reader.text("ids")
            let result = try ResultChange(json: reader.required("result"), ids: ids)
            guard (result.snapshot != nil) == (name == .received) else {
                throw HoldfastError(
                    .invalidOption,
                    "\"received\" has a \"result\" with a \"snapshot\", and \"changed\" has one without",
                    detail: [("option", .text("result"))])
            }
            self = .received(try Self.token(&reader), result)
        case .requestFailed:
            self = .requestFailed(
                try Self.token(&reader), request: try Self.request(&reader), error: try Self.error(&reader))
        }
        try reader.finish()
    }

    private static func begin(
        _ process: Process, _ reader: inout PayloadReader, _ assigning: (() -> EntityID)?
    ) throws(HoldfastError) -> Self {
        let isMissingAllowed = process == .delete ? try reader.options.boolean("missing_ok") ?? false : false
        let id = try reader.id("id") ?? assigning?() ?? defaultID
        return .begin(process, id, element: try element(&reader), isMissingAllowed: isMissingAllowed)
    }

    /// Of what is to end.
    private static func named(
        _ name: String, _ reader: inout PayloadReader, isMeant: Bool
    ) throws(HoldfastError) -> EntityID {
        if let id = try reader.id(name) { return id }
        guard isMeant else { return defaultID }
        throw HoldfastError(
            .invalidOption, "a cancellation has the \"\(name)\" of what it ends", detail: [("option", .text(name))])
    }

    private static func failed(_ process: Process, _ reader: inout PayloadReader) throws(HoldfastError) -> Self {
        .failed(process, try id(&reader), element: try element(&reader), error: try error(&reader))
    }

    private static func id(_ reader: inout PayloadReader) throws(HoldfastError) -> EntityID {
        try reader.id("id") ?? defaultID
    }

    private static func token(_ reader: inout PayloadReader) throws(HoldfastError) -> EntityID {
        try reader.id("token") ?? defaultID
    }

    private static func element(_ reader: inout PayloadReader) throws(HoldfastError) -> [UInt8] {
        try Array(asking: reader.required("element"))
    }

    private static func request(_ reader: inout PayloadReader) throws(HoldfastError) -> [UInt8] {
        try reader.object("request").map { text throws(HoldfastError) in try Array(asking: text) } ?? Array("{}".utf8)
    }

    private static func error(_ reader: inout PayloadReader) throws(HoldfastError) -> [UInt8] {
        _ = try reader.object("error")
        return try Array(asking: reader.required("error"))
    }

    public var json: [UInt8] {
        JSONWriter.object { writer in
            switch self {
            case .begin(let process, let id, let element, let isMissingAllowed):
                writer.begin(process == .save ? .save : .delete, "id", id)
                writer.member("element", raw: element)
                if isMissingAllowed { writer.member("missing_ok", true) }
            case .cancel(let process, let id):
                writer.begin(process == .save ? .cancelSave : .cancelDelete, "id", id)
            case .succeeded(let process, let id, let element, let version):
                writer.begin(process == .save ? .saved : .deleted, "id", id)
                writer.member("element", raw: element)
                if process == .save { writer.member("version", version) }
            case .failed(let process, let id, let element, let error):
                writer.begin(process == .save ? .saveFailed : .deleteFailed, "id", id)
                writer.member("error", raw: error)
                writer.member("element", raw: element)
            case .request(let token, let request):
                writer.begin(.request, "token", token)
                writer.member("request", raw: request)
            case .cancelRequest(let token): writer.begin(.cancelRequest, "token", token)
            case .received(let token, let result):
                writer.begin(result.snapshot == nil ? .changed : .received, "token", token)
                writer.member("result", raw: result.json)
                if let snapshot = result.snapshot { writer.ids(of: snapshot) }
            case .requestFailed(let token, let request, let error):
                writer.begin(.requestFailed, "token", token)
                writer.member("error", raw: error)
                writer.member("request", raw: request)
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func begin(_ name: ControllerAction.Name, _ member: String, _ id: EntityID) {
        self.member("action", name.rawValue)
        self.member(member, utf8: id.bytes)
    }

    /// The ids of a result, if they are known.
    mutating func ids(of elements: [Entity]) {
        guard !elements.contains(where: { $0.id.bytes.isEmpty }) else { return }
        member("ids")
        beginArray()
        for element in elements { string(utf8: element.id.bytes) }
        endArray()
    }
}
