internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Of which changes an observer wants to hear, and how much.
struct ChangeSelection: Sendable {
    let names: Catalogue
    var repository: RepositoryID?
    var id: EntityID?
    var filter: Filter?
    /// What of an entity has to be different.
    var fields: Projection?
    var includesOld = false
    var includesEntities = true

    /// A change as it is known: `new` nil where the new text is not, or where there is none.
    struct Known {
        let key: EntityKey
        let isDeletion: Bool
        var new: [UInt8]?
        var beforeImage: CommittedBatch.BeforeImage
    }

    func mayConcern(_ key: EntityKey) -> Bool {
        if let repository { return key.repository == repository && (id == nil || id == key.id || key.isWhole) }
        return true
    }

    /// What is told of a change by this commit; nil for nothing. What cannot be decided is told.
    func change(_ known: Known, at sequence: CommitSequence) -> ChangeBatch.Change? {
        guard mayConcern(known.key) else { return nil }
        let name = names.name(of: known.key.repository, at: sequence)
        if repository == nil, Catalogue.isReserved(name) { return nil }
        if known.key.isWhole {
            return ChangeBatch.Change(
                repository: name, id: known.key.id, operation: known.isDeletion ? .drop : .rename,
                newName: known.isDeletion ? nil : names.name(of: known.key.repository, at: sequence + 1))
        }
        let old: [UInt8]? = if case .body(let body) = known.beforeImage { body } else { nil }
        guard passesFilter(known, old), differs(known.new, old) else { return nil }
        let operation: ChangeBatch.Operation =
            if known.isDeletion {
                .delete
            } else {
                switch known.beforeImage {
                case .unknown: .put
                case .absent: .insert
                case .body: .update
                }
            }
        return ChangeBatch.Change(
            repository: name, id: known.key.id, operation: operation, entity: includesEntities ? known.new : nil,
            old: includesOld ? old : nil)
    }

    private func passesFilter(_ known: Known, _ old: [UInt8]?) -> Bool {
        guard let filter else { return true }
        if case .unknown = known.beforeImage { return true }
        // Where there is a text neither before nor after, it could not be read.
        if known.new == nil && !known.isDeletion { return true }
        return matches(filter, known.new) || matches(filter, old)
    }

    private func matches(_ filter: Filter, _ body: [UInt8]?) -> Bool {
        guard let body else { return false }
        do throws(HoldfastError) {
            return try body.withBytes { body throws(HoldfastError) in try filter.matches(body) }
        } catch {
            return true
        }
    }

    private func differs(_ new: [UInt8]?, _ old: [UInt8]?) -> Bool {
        guard let fields, let new, let old else { return true }
        return fields.cut(new) != fields.cut(old)
    }
}

extension Projection {
    /// What it leaves of a text; nil where that is damaged.
    func cut(_ body: [UInt8]) -> [UInt8]? {
        var result: [UInt8] = []
        do throws(HoldfastError) {
            try body.withBytes { body throws(HoldfastError) in try append(body, to: &result) }
        } catch { return nil }
        return result
    }
}
