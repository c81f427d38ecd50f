internal import CHoldfastPayload

/// Holds what a storage lends against what was stored there: a JSON object with the id under which it is kept. What is not
/// that is told with its repository and id wherever it is read, and never handed to anybody.
///
/// It is not asked of what the cache holds, which was looked at when it came there.
struct EntityCheck: Sendable {
    private let repository: String
    private let key: String
    private let keyBytes: [UInt8]

    init(_ record: RepositoryRecord) {
        repository = record.name
        key = record.key
        keyBytes = Array(record.key.utf8)
    }

    /// Whether the entity has the id under which it is kept. This is asked of each that a query looks at, so it looks at no
    /// more than it needs.
    func hasOwnID(_ view: EntityView) throws(HoldfastError) -> Bool {
        guard view.damage == nil else { return false }
        do throws(CorruptJSON) {
            if let answer = try compareID(view) { return answer }
        } catch { return false }
        return try parsedID(of: view)?.bytes.elementsEqual(view.id) == true
    }

    /// Whether the text is JSON, from one end to the other.
    static func isJSON(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let start = text.baseAddress else { return false }
        return hfp_stored_is_sound(start.assumingMemoryBound(to: CChar.self), text.count)
    }

    func isSound(_ view: EntityView) throws(HoldfastError) -> Bool { try hasOwnID(view) && Self.isJSON(view.body) }

    /// Throws `.corrupt` for what is not sound.
    func require(_ view: EntityView) throws(HoldfastError) {
        if try !isSound(view) { throw try refusal(of: view) }
    }

    /// Nil where the id has escapes.
    private func compareID(_ view: EntityView) throws(CorruptJSON) -> Bool? {
        let walker = JSONWalker(view.body)
        guard view.body.first == UInt8(ascii: "{") else { return false }
        let found = try keyBytes.withBytes { name throws(CorruptJSON) in try walker.value(of: name, in: 0) }
        guard let found else { return false }
        switch try walker.kind(at: found) {
        case .string:
            let text = try walker.text(at: found)
            return text.hasEscapes ? nil : compareBytes(walker.bytes(text.start, text.end), view.id) == 0
        case .number: return compareBytes(walker.bytes(found, try walker.endOfValue(at: found)), view.id) == 0
        default: return false
        }
    }

    private func parsedID(of view: EntityView) throws(HoldfastError) -> EntityID? {
        // A store that was written with wider limits is not damaged.
        do throws(HoldfastError) { return try EntityPayload(view.body, key: key, limits: .widest).id } catch {
            if error.status == .noMemory { throw error }
            return nil
        }
    }

    /// Names what was met.
    func refusal(of view: EntityView) throws(HoldfastError) -> HoldfastError {
        let id = String(decoding: view.id, as: UTF8.self)
        let reason = if let damage = view.damage { damage } else { try reason(view) }
        return HoldfastError(
            .corrupt,
            "\(repository) \"\(id)\" is damaged: \(reason); restore a backup, or save it anew, or delete "
                + "it",
            detail: [("repository", .text(repository)), ("id", .text(id))])
    }

    private func reason(_ view: EntityView) throws(HoldfastError) -> String {
        if !Self.isJSON(view.body) { return "its text is no JSON object" }
        guard let id = try parsedID(of: view) else { return "it has no id under \"\(key)\"" }
        return "it is the entity \"\(id.text)\""
    }
}
