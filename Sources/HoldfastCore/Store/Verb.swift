/// What a repository can be asked to do. The raw value is the call's name in C and Python, and in an operation's
/// description.
public enum Verb: String, CaseIterable, Sendable {
    // One entity is written.
    case add, update, save, patch, modify, delete
    // Many are.
    case addMany = "add_many"
    case updateMany = "update_many"
    case saveMany = "save_many"
    case patchMany = "patch_many"
    case deleteMany = "delete_many"
    // All that match are.
    case modifyAll = "modify_all"
    case deleteAll = "delete_all"
    // Nothing is.
    case fetch, contains
    case fetchMany = "fetch_many"
    case fetchAll = "fetch_all"
    case find, first, count, exists, distinct

    static let names = allCases.map(\.rawValue)

    /// Whether it may change something.
    var writes: Bool { isWriteCall || self == .modifyAll || self == .deleteAll }

    /// Whether it is carried out by writes that are known without reading: whether a `WriteCall` can be of it.
    var isWriteCall: Bool {
        switch self {
        case .add, .update, .save, .patch, .modify, .delete: true
        case .addMany, .updateMany, .saveMany, .patchMany, .deleteMany: true
        default: false
        }
    }

    /// Whether it writes one entity and answers that.
    var answersEntity: Bool {
        switch self {
        case .add, .update, .save, .patch, .modify: true
        default: false
        }
    }

    /// Whether the bodies of what was written are wanted.
    var answersEntities: Bool { isWriteCall && self != .delete && self != .deleteMany }

    // MARK: In an operation's description

    /// The member that holds what is written, or the ids of what is read.
    var payload: String? {
        switch self {
        case .add, .update, .save: "entity"
        case .addMany, .updateMany, .saveMany: "entities"
        case .patch: "patch"
        case .patchMany: "patches"
        case .modify, .modifyAll: "update"
        case .deleteMany, .fetchMany: "ids"
        default: nil
        }
    }

    /// Whether the member "id" names the one entity that is meant.
    var namesOne: Bool {
        switch self {
        case .patch, .modify, .delete, .fetch, .contains: true
        default: false
        }
    }

    var takesExpectedVersion: Bool {
        switch self {
        case .update, .patch, .modify, .delete: true
        default: false
        }
    }

    var isQuery: Bool {
        switch self {
        case .modifyAll, .deleteAll, .find, .first, .count, .exists, .distinct: true
        default: false
        }
    }

    /// The options of a query that it understands.
    package var accepted: QueryOptions.Accepted {
        switch self {
        case .find: [.sort, .skip, .limit, .fields, .damaged]
        case .first: [.sort, .skip, .fields, .damaged]
        case .count, .exists, .distinct: .damaged
        default: []
        }
    }
}
