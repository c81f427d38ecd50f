internal import CHoldfastPayload
package import HoldfastEnvironment
package import HoldfastQuery

/// Holds what a storage lends against what was stored there: a JSON object with the id under which it is kept. What is not
/// that is told with its repository and id wherever it is read, and never handed to anybody. There is no other notion of
/// what is damaged: verifying finds what reading refuses.
///
/// It is not asked of what the cache holds, which was looked at when it came there.
package struct EntityCheck: Sendable {
    private let repository: String
    package let key: String
    private let keyBytes: [UInt8]

    package init(_ record: RepositoryRecord) {
        repository = record.name
        key = record.key
        keyBytes = Array(record.key.utf8)
    }

    /// Whether the entity has the id under which it is kept. This is asked of each that a query looks at, so it looks at no
    /// more than it needs.
    package func hasOwnID(_ view: EntityView) -> Bool {
        guard view.damage == nil, !view.id.isEmpty else { return false }
        do throws(CorruptJSON) {
            let walker = JSONWalker(view.body)
            guard let found = try self.id(in: walker) else { return false }
            switch try walker.kind(at: found) {
            case .string: return try walker.equals(walker.text(at: found), view.id)
            case .number:
                let number = walker.bytes(found, try walker.endOfValue(at: found))
                // -0 is kept as it was given, under the id of 0.
                return compareBytes(number, view.id) == 0
                    || number.elementsEqual("-0".utf8) && view.id.elementsEqual("0".utf8)
            default: return false
            }
        } catch { return false }
    }

    /// Whether the id under which an entity is kept is a number in its text.
    package func hasNumber(_ id: EntityID, _ text: [UInt8]) -> Bool {
        guard id.mayBeNumber else { return false }
        return text.withBytes { text in
            let walker = JSONWalker(text)
            // What cannot be read is taken for one, which costs no more than an order that is worked out.
            guard let found = try? self.id(in: walker) else { return true }
            return (try? walker.kind(at: found)) != .string
        }
    }

    /// Whether the text is JSON, from one end to the other.
    package static func isJSON(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let start = text.baseAddress else { return false }
        return hfpayload_stored_is_sound(start.assumingMemoryBound(to: CChar.self), text.count)
    }

    package func isSound(_ view: EntityView) -> Bool { hasOwnID(view) && Self.isJSON(view.body) }

    /// Throws `.corrupt` for what is not sound.
    package func require(_ view: EntityView) throws(HoldfastError) {
        if !isSound(view) { throw refusal(of: view) }
    }

    /// Where the value under the key is.
    private func id(in walker: JSONWalker) throws(CorruptJSON) -> Int? {
        try keyBytes.withBytes { name throws(CorruptJSON) in try walker.value(of: name, in: 0) }
    }

    /// The id that the text has, whatever that is.
    private func ownID(of view: EntityView) -> String? {
        do throws(CorruptJSON) {
            let walker = JSONWalker(view.body)
            guard let found = try id(in: walker) else { return nil }
            switch try walker.kind(at: found) {
            case .string: return String(decoding: try walker.decode(walker.text(at: found)), as: UTF8.self)
            case .number:
                return String(decoding: walker.bytes(found, try walker.endOfValue(at: found)), as: UTF8.self)
            default: return nil
            }
        } catch { return nil }
    }

    /// Names what was met.
    package func refusal(of view: EntityView) -> HoldfastError {
        let id = String(decoding: view.id, as: UTF8.self)
        // What has no id can be named by none.
        let cure = view.id.isEmpty ? "" : ", or save it anew, or delete it"
        return HoldfastError(
            .corrupt, "\(repository) \"\(id)\" is damaged: \(view.damage ?? reason(view)); restore a backup\(cure)",
            detail: [("repository", .text(repository)), ("id", .text(id))])
    }

    private func reason(_ view: EntityView) -> String {
        if view.id.isEmpty { return "it is stored without an id" }
        if !Self.isJSON(view.body) { return "its text is no JSON object" }
        guard let id = ownID(of: view) else { return "it has no id under \"\(key)\"" }
        return "it is the entity \"\(id)\""
    }
}
