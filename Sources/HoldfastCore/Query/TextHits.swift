internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What a snapshot's text index tells of a search: which documents have what is asked for, how they are to be scored, and
/// which are the best. No text is read. The walk along the index stops where it is time to ask the host whether to go on, and
/// goes on where it has stopped.
final class TextHits {
    /// What is wanted of them.
    struct Wish {
        /// The documents, and not the ranking alone.
        var documents: Bool
        var ranking: Bool
        /// So many of those that are scored best; nil for all. Of equal ones those with the least ids.
        var best: Int?
    }

    struct Answer {
        /// In the order of their numbers; nil where they were not wanted.
        var documents: [UInt64]?
        var ranking: TextRanking?
        /// Whether each of the documents matches. Otherwise all that match are among them.
        var isExact: Bool
        /// Whether they are but those that were wished for of all that match.
        var isOfTheBest = false
    }

    private let index: Index
    private let search: WordSearch
    private let wish: Wish
    /// The snapshot's.
    let sequence: CommitSequence

    private let phrases: [WordSearch.IndexedPhrase]
    /// Those that an index can tell.
    private let exclusions: [WordSearch.IndexedPhrase]
    /// The terms of which postings are read, and of them those whose positions are.
    private let needed: Set<Int>
    private let placed: Set<Int>
    private let isExact: Bool

    /// Of each term, as far as they are read.
    private var postings: [TextPostings] = []
    /// Behind which row the walk along the next term goes on.
    private var stopped: IndexScan.Position?
    private var current: TextPostings?

    init(_ search: WordSearch, by index: Index, at sequence: CommitSequence, _ wish: Wish) {
        self.index = index
        self.search = search
        self.sequence = sequence
        self.wish = wish
        phrases = search.indexedPhrases.filter { !$0.words.isEmpty }
        exclusions = search.indexedExclusions.filter(\.isWhole)
        isExact = (search.indexedPhrases + search.indexedExclusions).allSatisfy(\.isWhole)
        let all = wish.documents ? phrases + exclusions : []
        needed = Set(0..<search.wantedCount).union(all.flatMap(\.words).map(\.term))
        placed = Set(all.filter { $0.words.count > 1 }.flatMap(\.words).map(\.term))
    }

    /// Nil where the walk has stopped; the snapshot must be of the same state when it goes on.
    func go(
        on snapshot: any StorageSnapshot, _ pace: inout Interrupt.Pace
    ) throws(HoldfastError) -> Answer? {
        while postings.count < search.terms.count {
            guard try readNext(on: snapshot, &pace) else { return nil }
        }
        let scale = wish.ranking ? TextRanking.Scale(try totals(on: snapshot)) : nil
        let frequencies = scale.map { scale in
            (0..<search.wantedCount).map { scale.inverseFrequency(postings[$0].documents.count) }
        }
        let ranking = scale.map { TextRanking(search, $0, inverseFrequencies: frequencies!) }
        guard wish.documents else { return Answer(ranking: ranking, isExact: isExact) }
        let documents = matching()
        if let best = wish.best, let scale, isExact, documents.count > best {
            let best = try self.best(best, of: documents, scale, frequencies!, on: snapshot)
            return Answer(documents: best, ranking: ranking, isExact: true, isOfTheBest: true)
        }
        return Answer(documents: documents, ranking: ranking, isExact: isExact)
    }

    /// Answers false where it has stopped before the end.
    private func readNext(on snapshot: any StorageSnapshot, _ pace: inout Interrupt.Pace) throws(HoldfastError) -> Bool
    {
        let term = postings.count
        var list = current ?? TextPostings(wantsPositions: placed.contains(term))
        current = nil
        if needed.contains(term) {
            let scan = IndexScan(
                index: index.record.id, repository: index.record.repository,
                range: TextRows.range(of: search.terms[term]), after: stopped, parts: .key)
            stopped = nil
            var rest = pace
            try snapshot.scan(scan) { key, _ throws(HoldfastError) in
                var reader = try PostingReader(key, of: index)
                try list.add(&reader)
                if rest.isOver(key.count) {
                    stopped = IndexScan.Position(key: Array(key), id: EntityID(unchecked: []))
                }
                return stopped == nil
            }
            pace = rest
            if stopped != nil {
                current = list
                return false
            }
        }
        postings.append(list)
        return true
    }

    private func totals(on snapshot: any StorageSnapshot) throws(HoldfastError) -> TextTotals {
        var totals = TextRows.Totals()
        let scan = IndexScan(
            index: index.record.id, repository: index.record.repository, range: TextRows.allTotals, parts: .key)
        try snapshot.scan(scan) { key, _ throws(HoldfastError) in
            guard let known = TextRows.Totals(key) else { throw index.damage }
            totals = known
            return false
        }
        return totals.totals
    }

    private func matching() -> [UInt64] {
        // What has a phrase has its words; where one of them is looked for, that is enough.
        let whole = phrases.firstIndex { $0.words.contains { $0.term < search.wantedCount } }
        var documents =
            whole.map { phrases[$0].documents(in: postings) }
            ?? (0..<search.wantedCount).reduce([]) { TextPostings.any($0, postings[$1].documents) }
        for (number, phrase) in phrases.enumerated() where number != whole {
            documents = TextPostings.both(documents, phrase.documents(in: postings))
        }
        for phrase in exclusions { documents = TextPostings.first(documents, without: phrase.documents(in: postings)) }
        return documents
    }

    private func best(
        _ count: Int, of documents: [UInt64], _ scale: TextRanking.Scale, _ frequencies: [Double],
        on snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> [UInt64] {
        try Memory.ask(for: 24 * documents.count)
        let texts = TextDocuments(index: index, snapshot: snapshot)
        var lengths = [UInt64](repeating: 0, count: documents.count)
        try texts.visit(documents[...], withoutIDs: true) { place, length, _ in lengths[place] = length }
        var scores = [Double](repeating: 0, count: documents.count)
        // Parts are added up in the order of the words, as whoever reads the texts does: both have the same sum.
        for term in 0..<search.wantedCount {
            let list = postings[term]
            var place = 0
            for (number, document) in documents.enumerated() {
                place = list.place(of: document, from: place)
                if place == list.documents.count { break }
                guard list.documents[place] == document else { continue }
                scores[number] += scale.part(
                    weight: list.weights[place], length: lengths[number], frequencies[term])
            }
        }
        let worst = scores.sorted(by: >)[count - 1]
        var chosen = documents.indices.filter { scores[$0] > worst }
        let equal = documents.indices.filter { scores[$0] == worst }
        if chosen.count + equal.count > count {
            var named: [(id: EntityID, place: Int)] = []
            try texts.visit(equal.map { documents[$0] }[...]) { place, _, id in
                named.append((EntityID(unchecked: id), equal[place]))
            }
            named.sort { $0.id < $1.id }
            chosen += named.prefix(count - chosen.count).map(\.place)
        } else {
            chosen += equal
        }
        return chosen.sorted().map { documents[$0] }
    }
}
