internal import HoldfastCore
internal import HoldfastEnvironment

#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// A live query's result in sections, told again whenever a commit changes it:
///
///     let query = songs.observe(Query(sort: [.ascending(\.genre), .ascending(\.title)]))
///     for try await result in query.sections(by: \.genre) {
///         for section in result.sections { show(section.id, section.elements) }
///     }
///
/// The sections come in the order in which the query finds the first element of each; sorted by the same member, no element of
/// another stands between those of one. As of ``LiveQuery`` otherwise.
public struct SectionedQuery<SectionID: Hashable & Sendable, Answer: Decodable & Identifiable & Sendable>:
    AsyncSequence, Sendable
{
    public typealias Element = SectionedResult<SectionID, Answer>

    fileprivate let query: LiveQuery<Answer>
    fileprivate let id: any KeyPath<Answer, SectionID> & Sendable

    /// A live query, which begins when its first result is asked for.
    public func makeAsyncIterator() -> Iterator { Iterator(base: query.makeAsyncIterator(), id: id) }

    /// One live query.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: LiveQuery<Answer>.Iterator
        fileprivate let id: any KeyPath<Answer, SectionID> & Sendable
        private var before: [LiveSection<SectionID, Answer>]?

        fileprivate init(base: LiveQuery<Answer>.Iterator, id: any KeyPath<Answer, SectionID> & Sendable) {
            (self.base, self.id) = (base, id)
        }

        /// The result, once it is there, or there is another. Nil after it has thrown.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
            guard let result = try await base.next(isolation: actor) else { return nil }
            var sections = result.sections(by: id)
            var difference: CollectionDifference<SectionID>?
            if let before {
                difference = sections.map(\.id).difference(from: before.map(\.id)).inferringMoves()
                let old = Dictionary(uniqueKeysWithValues: before.map { ($0.id, $0) })
                for index in sections.indices {
                    sections[index].difference = old[sections[index].id].flatMap {
                        sections[index].difference(from: $0)
                    }
                }
            }
            before = sections
            return SectionedResult(
                sections: sections, difference: difference, unreadable: result.unreadable,
                mergedCommits: result.mergedCommits, position: result.position)
        }
    }

    /// The same, held back as ``LiveQuery/debounce(for:)`` does.
    public func debounce(for interval: Duration) -> SectionedQuery {
        SectionedQuery(query: query.debounce(for: interval), id: id)
    }

    /// The same, held back as ``LiveQuery/throttle(for:)`` does.
    public func throttle(for interval: Duration) -> SectionedQuery {
        SectionedQuery(query: query.throttle(for: interval), id: id)
    }

    /// The same as a publisher: as ``LiveQuery/publisher``.
    public var publisher: AnyPublisher<Element, HoldfastError> { StreamPublisher { self }.eraseToAnyPublisher() }
}

/// What a live query finds, in sections, with how that differs from what was told before.
public struct SectionedResult<SectionID: Hashable & Sendable, Entity: Identifiable & Sendable>: Sendable {
    /// All sections, in order. None is empty.
    public var sections: [LiveSection<SectionID, Entity>]
    /// How the ids of the sections differ from those before; one that has moved is removed and inserted, the two associated with
    /// each other. Nil of the first result. What has changed in a section that stayed, the section tells.
    public var difference: CollectionDifference<SectionID>?
    /// As of ``LiveResult/unreadable``.
    public var unreadable: [HoldfastError]
    /// As of ``LiveResult/mergedCommits``.
    public var mergedCommits: Int
    /// As of ``LiveResult/position``.
    public var position: String
}

/// A section of a live query's result.
public struct LiveSection<SectionID: Hashable & Sendable, Entity: Identifiable & Sendable>: Identifiable, Sendable {
    /// What its elements have in common.
    public var id: SectionID
    /// Its elements, in the query's order.
    public var elements: [Entity]
    /// The version of each.
    public var versions: [UInt64]
    /// How the elements differ from those that this section had before: as `difference` of ``LiveResult``. Nil of one that was not
    /// there before, and in the first result.
    public var difference: CollectionDifference<Entity>?
}

extension LiveQuery where Answer: Identifiable {
    /// The result in sections of what has the same value there.
    public func sections<SectionID: Hashable & Sendable>(
        by id: any KeyPath<Answer, SectionID> & Sendable
    ) -> SectionedQuery<SectionID, Answer> { SectionedQuery(query: self, id: id) }
}

extension LiveResult where Entity: Identifiable {
    fileprivate func sections<SectionID>(by id: KeyPath<Entity, SectionID>) -> [LiveSection<SectionID, Entity>] {
        var sections: [LiveSection<SectionID, Entity>] = []
        var places: [SectionID: Int] = [:]
        for (element, version) in zip(elements, versions) {
            let id = element[keyPath: id]
            if let place = places[id] {
                sections[place].elements.append(element)
                sections[place].versions.append(version)
            } else {
                places[id] = sections.count
                sections.append(LiveSection(id: id, elements: [element], versions: [version]))
            }
        }
        return sections
    }
}

extension LiveSection {
    /// What tells an element from what it was before.
    private struct Row: Hashable {
        var id: Entity.ID
        var version: UInt64
    }

    private var rows: [Row] { zip(elements, versions).map { Row(id: $0.id, version: $1) } }

    fileprivate func difference(from before: LiveSection) -> CollectionDifference<Entity>? {
        let changes = rows.difference(from: before.rows)
        func offsets(_ changes: [CollectionDifference<Row>.Change]) -> [Entity.ID: Int] {
            var offsets: [Entity.ID: Int] = [:]
            for case .insert(let offset, let row, _) in changes { offsets[row.id] = offset }
            for case .remove(let offset, let row, _) in changes { offsets[row.id] = offset }
            return offsets
        }
        let (removed, inserted) = (offsets(changes.removals), offsets(changes.insertions))
        return CollectionDifference(
            changes.map { change in
                switch change {
                case .remove(let offset, let row, _):
                    .remove(offset: offset, element: before.elements[offset], associatedWith: inserted[row.id])
                case .insert(let offset, let row, _):
                    .insert(offset: offset, element: elements[offset], associatedWith: removed[row.id])
                }
            })
    }
}
