package import HoldfastEnvironment
package import HoldfastQuery
internal import HoldfastStorage

/// The entries that an entity has in an index: one for each value to which the path leads, an array's elements each
/// for itself; for several fields, the tuples that PathTuples.swift describes.
///
/// They hold the values that a condition on the path looks at (see PathWalk.swift), so that whoever matches a condition
/// for a value that is no array has an entry under it. What leads nowhere has null's, an element without members too.
package struct IndexKeys {
    /// Beyond so many entries in one index, or so many bytes of keys, an entity is refused: the combinations of several
    /// fields are many more than its text has bytes.
    package static let limit = 10_000
    static let byteLimit = 1 << 20

    /// In order, each once.
    package private(set) var keys: [[UInt8]]
    /// Whether there is an array on a path.
    package private(set) var hasArrays = false

    /// Whether what they are of is damaged, and tells none.
    var isUnknown = false

    package static let none = IndexKeys(keys: [])

    private init(keys: [[UInt8]]) { self.keys = keys }

    var byteCount: Int { keys.reduce(0) { $0 + $1.count } }

    /// Nil where there would be too many.
    package init?(of document: UnsafeRawBufferPointer, for definition: IndexDefinition) throws(HoldfastError) {
        var found: [[UInt8]]?
        if let text = definition.text {
            found = try TextTerms.keys(of: document, text)
        } else {
            do throws(CorruptJSON) {
                if definition.isOutdated {
                    let outdated = try OutdatedTuples(of: document, definition.fields)
                    (found, hasArrays) = (outdated.keys, true)
                } else {
                    var tuples = PathTuples(of: document, definition.fields)
                    found = try tuples.all(PathTuples.Limit(count: Self.limit, bytes: Self.byteLimit))
                    hasArrays = tuples.hasArrays
                }
            } catch { throw HoldfastError(error) }
        }
        guard var keys = found else { return nil }
        if keys.count > 1 {
            keys.sort { $0.lexicographicallyPrecedes($1) }
            var distinct: [[UInt8]] = []
            for key in keys where key != distinct.last { distinct.append(key) }
            keys = distinct
        }
        self.keys = keys
    }
}

extension Index {
    /// The entries of an entity, or why it can have none.
    package func keys(
        of document: UnsafeRawBufferPointer, _ id: @autoclosure () -> EntityID, in repository: String
    ) throws(HoldfastError) -> IndexKeys {
        let keys: IndexKeys?
        do throws(HoldfastError) { keys = try IndexKeys(of: document, for: definition) } catch {
            throw error.status == .corrupt ? isDamaged(id(), in: repository) : error
        }
        if let keys { return keys }
        throw isTooMuch(id(), in: repository)
    }

    /// How many words an entity has, or why it can have no place in a text index.
    func length(
        _ repository: String, _ id: EntityID, _ count: () throws(HoldfastError) -> UInt64?
    ) throws(HoldfastError) -> UInt64 {
        do throws(HoldfastError) { if let length = try count() { return length } } catch {
            throw error.status == .corrupt ? isDamaged(id, in: repository) : error
        }
        throw isTooMuch(id, in: repository)
    }

    private func isDamaged(_ id: EntityID, in repository: String) -> HoldfastError {
        HoldfastError(
            .corrupt,
            "\(repository) \"\(id.text)\" is damaged and has no place in the index \"\(record.name)\": restore a backup, "
                + "or save it anew, or delete it",
            detail: [("repository", .text(repository)), ("id", .text(id.text)), ("index", .text(record.name))])
    }

    private func isTooMuch(_ id: EntityID, in repository: String) -> HoldfastError {
        let isText = definition.text != nil
        let limits = isText ? (TextTerms.limit, TextTerms.byteLimit) : (IndexKeys.limit, IndexKeys.byteLimit)
        return HoldfastError(
            .invalidEntity,
            "\(repository) \"\(id.text)\" would have more than \(limits.0) entries, or \(limits.1) bytes "
                + "of keys, in the index \"\(record.name)\": shorten its arrays or texts, or drop the index",
            detail: [("index", .text(record.name)), ("id", .text(id.text))])
    }
}
