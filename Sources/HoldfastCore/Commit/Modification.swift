internal import HoldfastEnvironment
public import HoldfastQuery

/// What makes an entity's new text from the one that is there when its batch is validated.
public enum Modification: Sendable {
    case patch(MergePatch)
    /// Where there is no entity it begins with `initial`, if that is given.
    case update(Update, initial: [UInt8]?)

    /// As the caller gave it.
    var text: [UInt8] {
        switch self {
        case .patch(let patch): patch.text
        case .update(let update, _): update.text
        }
    }

    /// What stands for an entity that is not there, which a precondition excludes where this is nil.
    var initial: [UInt8]? {
        switch self {
        case .patch: nil
        case .update(_, let initial): initial
        }
    }

    /// Those that the result must keep.
    private var limits: PayloadLimits {
        switch self {
        case .patch(let patch): patch.limits
        case .update(let update, _): update.limits
        }
    }

    /// The new text of `target`, which is a stored entity.
    func applied(to target: UnsafeRawBufferPointer) throws(HoldfastError) -> [UInt8] {
        // The result, and the tree of values that an update makes.
        try Memory.ask(for: 2 * target.count + 4 * text.count)
        let result =
            switch self {
            case .patch(let patch): try patch.applied(to: target)
            case .update(let update, _): try update.applied(to: target)
            }
        guard result.count <= limits.maxBytes else {
            throw HoldfastError(
                .invalidEntity,
                "the modified entity has \(result.count) bytes, and the store allows \(limits.maxBytes): remove members, "
                    + "or raise max_entity_bytes")
        }
        return result
    }
}
