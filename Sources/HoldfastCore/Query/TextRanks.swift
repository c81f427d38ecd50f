internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The ranking of a search by what a snapshot's index has of its words; and, without reading any text, which entities it
/// has first, or have all words of its phrases. The walk stops where it is time to ask the host whether to go on, and goes on where it has stopped.
final class TextRanks {
    private let index: Index
    private let search: WordSearch
    /// Of so many the ids are wanted, nil of none. Equal ones go by their ids, the least first.
    private let bestCount: Int?
    /// Words of which the ids are wanted of those entities that have them all; none where they are not.
    private let required: Set<[UInt8]>
    /// How many of them each entity has that has all that were walked.
    private var havingAll: [EntityID: Int] = [:]
    private var requiredCount = 0

    /// The snapshot's.
    let sequence: CommitSequence

    init(
        _ search: WordSearch, by index: Index, at sequence: CommitSequence, best bestCount: Int?,
        required: Set<[UInt8]> = []
    ) {
        self.search = search
        self.sequence = sequence
        self.required = required
        self.index = index
        self.bestCount = bestCount
    }

    /// An entity that has some of the words.
    private struct Hit {
        let id: EntityID
        let length: UInt64
        var score = 0.0
    }

    private var totals = TextStatistics.Totals()
    private var scale: TextRanking.Scale?
    private var inverseFrequencies: [Double] = []
    private var hits: [Hit] = []
    private var places: [EntityID: Int] = [:]
    /// Of the word that is walked.
    private var frequency = 0
    private var found: [(place: Int, weight: UInt64)] = []
    /// Where its walk has stopped.
    private var stopped: IndexScan.Position?

    /// Nil where the walk has stopped; the snapshot must be of the same state when it goes on.
    func go(
        on snapshot: any StorageSnapshot, _ pace: inout Interrupt.Pace
    ) throws(HoldfastError) -> (ranking: TextRanking, ids: [EntityID]?)? {
        if scale == nil { scale = try counted(on: snapshot, &pace) }
        guard let scale else { return nil }
        while inverseFrequencies.count < search.wanted.count {
            let term = search.wanted[inverseFrequencies.count]
            let isRequired = required.contains(term)
            let isWalked = try walk(term, on: snapshot, &pace) { key, view throws(HoldfastError) in
                frequency += 1
                if bestCount != nil { try add(key, view) }
                if isRequired { try meetRequired(EntityID(unchecked: Array(view.id))) }
            }
            if !isWalked { return nil }
            if isRequired { requiredCount += 1 }
            let inverseFrequency = scale.inverseFrequency(frequency)
            inverseFrequencies.append(inverseFrequency)
            for (place, weight) in found {
                hits[place].score += scale.part(weight: weight, length: hits[place].length, inverseFrequency)
            }
            found = []
            frequency = 0
        }
        let ranking = TextRanking(search, scale, inverseFrequencies: inverseFrequencies)
        if !required.isEmpty { return (ranking, havingAll.filter { $0.value == requiredCount }.map(\.key)) }
        guard let bestCount else { return (ranking, nil) }
        hits.sort { $0.score == $1.score ? $0.id < $1.id : $0.score > $1.score }
        return (ranking, hits.prefix(bestCount).map(\.id))
    }

    private func meetRequired(_ id: EntityID) throws(HoldfastError) {
        if requiredCount == 0 {
            try havingAll.askToGrow()
            havingAll[id] = 1
        } else if havingAll[id] == requiredCount {
            havingAll[id] = requiredCount + 1
        }
    }

    private func add(_ key: UnsafeRawBufferPointer, _ view: EntityView) throws(HoldfastError) {
        guard let (weight, length) = TextEntries.numbers(of: key) else { throw damage }
        let id = EntityID(unchecked: Array(view.id))
        var place = hits.count
        if search.wanted.count > 1 {
            try places.askToGrow()
            place = places[id] ?? hits.count
            if place == hits.count { places[id] = place }
        }
        try found.askToGrow()
        found.append((place, weight))
        guard place == hits.count else { return }
        try hits.askToGrow()
        hits.append(Hit(id: id, length: length))
    }

    private func counted(
        on snapshot: any StorageSnapshot, _ pace: inout Interrupt.Pace
    ) throws(HoldfastError) -> TextRanking.Scale? {
        let sequence = UInt64(sequence)
        let statistics = search.definition.statistics
        if let known = statistics?.totals(of: index.record.id, at: sequence) { return TextRanking.Scale(known) }
        let isWalked = try walk([], on: snapshot, &pace) { key, _ throws(HoldfastError) in
            guard let length = TextEntries.numbers(of: key)?.first else { throw damage }
            totals.entities += 1
            totals.length &+= length
        }
        if !isWalked { return nil }
        statistics?.keep(totals, of: index.record.id, at: sequence)
        return TextRanking.Scale(totals)
    }

    /// Answers whether the entries of a term were all visited.
    private func walk(
        _ term: [UInt8], on snapshot: any StorageSnapshot, _ pace: inout Interrupt.Pace,
        _ visit: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        let scan = IndexScan(
            index: index.record.id, repository: index.record.repository, range: TextEntries.range(of: term),
            after: stopped, parts: .key)
        stopped = nil
        var rest = pace
        try snapshot.scan(scan) { key, view throws(HoldfastError) in
            try visit(key, view)
            if rest.isOver() {
                stopped = IndexScan.Position(key: Array(key), id: EntityID(unchecked: Array(view.id)))
            }
            return stopped == nil
        }
        pace = rest
        return stopped == nil
    }

    private var damage: HoldfastError {
        HoldfastError(
            .corrupt, "the index \"\(index.record.name)\" is damaged: drop it and create it again",
            detail: [("index", .text(index.record.name))])
    }
}
