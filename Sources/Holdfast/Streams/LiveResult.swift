internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// What a live query finds, as a whole, with how that differs from what it found before.
public struct LiveResult<Entity: Sendable>: Sendable {
    /// All entities, in order.
    public var elements: [Entity]
    /// The version of each. Where only some members are asked for, that of the last change of these.
    public var versions: [UInt64]
    /// What it finds and is none of the elements because it is no such entity: an error `.corrupt` that names its id, for each.
    public var unreadable: [HoldfastError]
    /// How the elements differ from those before: applied to them, it gives these. What has moved, or changed in its place,
    /// is removed and inserted, the two associated with each other. Nil of the first result, and where the commits in
    /// between are not known.
    public var difference: CollectionDifference<Entity>?
    /// How many commits that touched the result it brings together; 0 of the first.
    public var mergedCommits: Int
    /// The commit up to which this is the result.
    public var position: String
}

/// A live query's result, as it is followed.
struct FollowedResult<Entity: Decodable & Sendable> {
    private struct Row {
        var entity: Entity?
        var error: HoldfastError?
        var version: UInt64
        /// Where it was in the result that was told last; nil of a new one.
        var old: Int?
        /// Whether it is in another place than that, among those that stayed, or another in its place.
        var isChanged = false
    }

    private let coding: EntityCoding
    private let repository: String
    private var rows: [Row] = []
    /// As they were told last; nil where how the rows differ from those is not known.
    private var told: [Row]?
    private var merged = 0
    private var position = ""

    init(_ coding: EntityCoding, repository: String) {
        self.coding = coding
        self.repository = repository
    }

    /// Takes in what the core tells.
    mutating func follow(_ change: ResultChange) {
        (merged, position) = (merged + change.merged, change.position)
        if let snapshot = change.snapshot {
            rows = snapshot.map(row)
            told = nil
            return
        }
        take(change)
        for placed in change.changed {
            let old = rows[placed.position].old
            rows[placed.position] = row(placed.entity)
            rows[placed.position].old = old
            rows[placed.position].isChanged = true
        }
    }

    /// The result as it is now, with how it differs from the one that was told last.
    mutating func tell() -> LiveResult<Entity> {
        let result = LiveResult(
            elements: rows.compactMap(\.entity), versions: rows.compactMap { $0.entity == nil ? nil : $0.version },
            unreadable: rows.compactMap(\.error), difference: told.flatMap(difference), mergedCommits: merged,
            position: position)
        for index in rows.indices { (rows[index].old, rows[index].isChanged) = (index, false) }
        (told, merged) = (rows, 0)
        return result
    }

    /// Takes out what is removed or moved, and puts in what is inserted or moved, in ascending order.
    private mutating func take(_ change: ResultChange) {
        let before = rows
        let gone = Set(change.removed.map(\.position)).union(change.moved.map(\.from))
        let arriving =
            change.inserted.map { (place: $0.position, row: row($0.entity)) }
            + change.moved.map { move in
                var row = before[move.from]
                row.isChanged = true
                return (place: move.to, row: row)
            }
        var staying = before.indices.lazy.filter { !gone.contains($0) }.makeIterator()
        var new: [Row] = []
        new.reserveCapacity(before.count - gone.count + arriving.count)
        for (place, row) in arriving.sorted(by: { $0.place < $1.place }) {
            while new.count < place, let index = staying.next() { new.append(before[index]) }
            new.append(row)
        }
        while let index = staying.next() { new.append(before[index]) }
        rows = new
    }

    private func row(_ entity: HoldfastCore.Entity) -> Row {
        do {
            let decoded = try coding.decode(
                Entity.self, from: entity.body, id: entity.id.text, repository: repository)
            return Row(entity: decoded, version: entity.version)
        } catch {
            // What decoding throws, whatever the type's own decoder did.
            let error = error as? HoldfastError ?? HoldfastError(.corrupt, "\(error)", cause: error)
            return Row(error: error, version: entity.version)
        }
    }

    /// Of the elements alone, whose places are fewer where something is unreadable.
    private func difference(from before: [Row]) -> CollectionDifference<Entity>? {
        let places = (before: Self.places(before), after: Self.places(rows))
        var changes: [CollectionDifference<Entity>.Change?] = []
        let staying = Set(rows.compactMap(\.old))
        for index in before.indices where !staying.contains(index) { changes.append(removal(index)) }
        for (index, row) in rows.enumerated() {
            guard let old = row.old else {
                changes.append(insertion(index))
                continue
            }
            if row.isChanged {
                let isThere = (before: before[old].entity != nil, after: row.entity != nil)
                changes.append(removal(old, to: isThere.after ? index : nil))
                changes.append(insertion(index, from: isThere.before ? old : nil))
            }
        }
        return CollectionDifference(changes.compactMap { $0 })

        func removal(_ place: Int, to new: Int? = nil) -> CollectionDifference<Entity>.Change? {
            before[place].entity.map {
                .remove(offset: places.before[place], element: $0, associatedWith: new.map { places.after[$0] })
            }
        }

        func insertion(_ place: Int, from old: Int? = nil) -> CollectionDifference<Entity>.Change? {
            rows[place].entity.map {
                .insert(offset: places.after[place], element: $0, associatedWith: old.map { places.before[$0] })
            }
        }
    }

    /// How many elements stand before each row.
    private static func places(_ rows: [Row]) -> [Int] {
        var count = 0
        return rows.map { row in
            defer { if row.entity != nil { count += 1 } }
            return count
        }
    }
}
