/// A member of an entity, by a key path or by the text of its path.
struct Member<Entity: Codable & Sendable>: Sendable {
    private enum Form: Sendable {
        case keyPath(any PartialKeyPath<Entity> & Sendable)
        case text(String)
    }
    private let form: Form

    init(_ keyPath: any PartialKeyPath<Entity> & Sendable) { form = .keyPath(keyPath) }

    init(_ text: String) { form = .text(text) }

    /// Whether it is no member but the whole: an element, where elements are spoken of.
    var isSelf: Bool {
        guard case .keyPath(let keyPath) = form else { return false }
        return keyPath == \Entity.self
    }

    func path(_ coding: EntityCoding) throws -> String {
        switch form {
        case .text(let text): text
        case .keyPath(let keyPath): try coding.paths.path(of: keyPath)
        }
    }

    /// The path as a JSON string.
    func name(_ coding: EntityCoding) throws -> String { try coding.text(path(coding), what: "path") }
}
