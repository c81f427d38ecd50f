internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The ranking of a search by what a snapshot's index has of its words; and, without reading any text, which entities it
/// has first.
struct TextRanks {
    private let index: Index
    private let snapshot: any StorageSnapshot
    private let search: WordSearch

    init(_ search: WordSearch, by index: Index, on snapshot: any StorageSnapshot) {
        self.search = search
        self.index = index
        self.snapshot = snapshot
    }

    /// An entity that has some of the words.
    private struct Hit {
        let id: EntityID
        let length: UInt64
        var score = 0.0
    }

    /// `best`: of so many the ids are wanted, nil of none. Equal ones go by their ids, the least first.
    func ranking(best: Int?) throws(HoldfastError) -> (ranking: TextRanking, best: [EntityID]?) {
        let scale = TextRanking.Scale(try totals())
        var inverseFrequencies: [Double] = []
        var hits: [Hit] = []
        var places: [EntityID: Int] = [:]
        for term in search.wanted {
            var frequency = 0
            var found: [(place: Int, weight: UInt64)] = []
            try walk(term) { key, view throws(HoldfastError) in
                frequency += 1
                guard best != nil else { return }
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
            let inverseFrequency = scale.inverseFrequency(frequency)
            inverseFrequencies.append(inverseFrequency)
            for (place, weight) in found {
                hits[place].score += scale.part(weight: weight, length: hits[place].length, inverseFrequency)
            }
        }
        let ranking = TextRanking(search, scale, inverseFrequencies: inverseFrequencies)
        guard let best else { return (ranking, nil) }
        hits.sort { $0.score == $1.score ? $0.id < $1.id : $0.score > $1.score }
        return (ranking, hits.prefix(best).map(\.id))
    }

    private func totals() throws(HoldfastError) -> TextStatistics.Totals {
        func count() throws(HoldfastError) -> TextStatistics.Totals {
            var totals = TextStatistics.Totals()
            try walk([]) { key, _ throws(HoldfastError) in
                guard let length = TextEntries.numbers(of: key)?.first else { throw damage }
                totals.entities += 1
                totals.length &+= length
            }
            return totals
        }
        guard let statistics = search.definition.statistics else { return try count() }
        return try statistics.totals(of: index.record.id, at: UInt64(snapshot.sequence), count: count)
    }

    private func walk(
        _ term: [UInt8], _ visit: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        let scan = IndexScan(
            index: index.record.id, repository: index.record.repository, range: TextEntries.range(of: term),
            parts: .key)
        try snapshot.scan(scan) { key, view throws(HoldfastError) in
            try visit(key, view)
            return true
        }
    }

    private var damage: HoldfastError {
        HoldfastError(
            .corrupt, "the index \"\(index.record.name)\" is damaged: drop it and create it again",
            detail: [("index", .text(index.record.name))])
    }
}
