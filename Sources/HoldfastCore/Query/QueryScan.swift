internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Finds the entities that match a filter: plans on the snapshot, walks the candidates, asks the filter where the plan
/// does not imply it, and lays a transaction's own writes over what the snapshot has. A scan that was stopped goes on
/// where it stopped when it is run again, on the same snapshot or on one in which nothing that it read is different. It
/// stops by itself, and is run again, where it is time to ask the host whether to go on: the storage lends while it runs.
package struct QueryScan {
    let filter: Filter
    /// The order asked for, if any. `plan.isSorted` tells whether the walk came in it.
    let sort: [SortOrder.Field]
    /// Whether the walk is likely to be ended early.
    let isLimited: Bool
    /// Whether what is damaged is passed over. Otherwise it ends the scan.
    let skipsDamaged: Bool
    /// Whether those that match are to be scored.
    let wantsScores: Bool
    /// Of how many of those that are scored best more is wanted than that they match; nil of all.
    let bestCount: Int?
    /// Whether they may come in any order, also where there is neither a sort nor an index.
    let takesAnyOrder: Bool
    /// Whether more is wanted of what matches than that it does: then its whole text is looked at.
    let wantsBodies: Bool
    /// The path of which each value is wanted once, whatever entity it is in; nil where every entity is.
    let distinct: Path?
    /// What the transaction has written in this repository, in the order in which ids are walked.
    var own: [(key: EntityKey, entry: WriteBuffer.Entry)] = []
    /// So many of `matched` are kept for the read set; nil when none are wanted.
    var matchedLimit: Int?

    private(set) var plan: Plan
    /// How often entries were leapt over that lead to a value already found.
    private(set) var leaps: UInt64 = 0
    /// How many documents the filter was held against.
    var examined: UInt64 = 0
    /// The snapshot's ids that matched, for the read set; nil when too many, or when the filter holds for all and
    /// any change counts anyway.
    private(set) var matched: FoundIDs?
    /// Where the read set has this query.
    var predicate: Int?
    /// Whether everything was walked.
    private(set) var isFinished = false
    /// Whether it has stopped by itself, for a question.
    private(set) var isPaused = false

    private var pace = Interrupt.Pace()
    private var isPlanned = false
    /// The state in which a text index was asked.
    private var searched: CommitSequence?
    /// Of a search, until it is planned.
    private var hits: TextHits?
    /// Whether it has stopped before it was planned: what it has read is of one snapshot.
    var isSearching: Bool { hits != nil }
    /// Whether `begin` was told the plan.
    private(set) var hasBegun = false
    /// Whether the snapshot's candidates were all met.
    private var hasWalked = false
    /// Which part of the plan is walked.
    private var part = 0
    /// The candidate in it at which the scan was stopped.
    private var stopped: IndexScan.Position?
    /// Its number, which goes on leading there where they come as they lie: what has matched since is a conflict for who moves
    /// forward, and what has stayed as it was has stayed where it was.
    private var stoppedNumber = Int64.min
    /// Those that were met, where that can be twice.
    private var met: Set<EntityID> = []
    private var next = 0
    private var goesOn = true
    /// Whether the index tells all that is wanted: then no entity is read.
    private var readsKeysAlone = false
    /// Whether there may be room in the cache for what is read.
    private var fills = false
    /// What is walked instead where leaping does not pay.
    private var plainPlan: Plan?
    /// How many entries were met while it leapt.
    private var metLeaping = 0

    init(
        _ filter: Filter, sort: [SortOrder.Field] = [], isLimited: Bool = false, skipsDamaged: Bool = false,
        wantsBodies: Bool = true, wantsScores: Bool = false, bestCount: Int? = nil, distinct: Path? = nil,
        takesAnyOrder: Bool = false
    ) {
        self.filter = filter
        self.sort = sort
        self.isLimited = isLimited
        self.skipsDamaged = skipsDamaged
        self.wantsBodies = wantsBodies
        self.wantsScores = wantsScores
        self.bestCount = bestCount
        self.distinct = distinct
        self.takesAnyOrder = takesAnyOrder
        plan = .everything(filter)
    }

    mutating func run(
        _ repository: RepositoryID, _ check: EntityCheck, on snapshot: any StorageSnapshot,
        cache: EntityCache? = nil, begin: (Plan) -> Void, _ visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        pace = Interrupt.Pace()
        isPaused = false
        try choosePlan(repository, check, on: snapshot)
        if isPaused { return }
        begin(plan)
        hasBegun = true
        goesOn = true
        // A closure cannot capture an inout self across a throwing call, so the walk works on a copy.
        var scan = self
        defer { self = scan }
        if plainPlan != nil { try scan.leap(repository, check, on: snapshot, visit) }
        let plan = scan.plan
        let cached = cache.flatMap { scan.cachedWalk($0, repository, on: snapshot) }
        if scan.hasWalked || !scan.goesOn {
            // Only own writes are left, or nothing is wanted just now.
        } else if plan.isByID {
            try plan.parts[0].walk(
                repository, on: snapshot, cached: cached, after: scan.stopped?.id, behind: scan.stoppedNumber,
                filter: filter
            ) { view throws(HoldfastError) in
                let isOverlaid = try scan.visitOwn(upTo: view.id, visit)
                return scan.goesOn ? try scan.meet(noKey, view, check, isOverlaid: isOverlaid, visit) : false
            }
        } else {
            let overlaid = Set(own.map(\.key.id))
            scan.fills = cached != nil
            for number in plan.parts.indices.dropFirst(scan.part) where scan.goesOn {
                if number > scan.part { (scan.part, scan.stopped) = (number, nil) }
                if let index = plan.parts[number].index {
                    try plan.parts[number].walk(
                        index, of: repository, on: snapshot, keysAlone: readsKeysAlone, cached: cached,
                        after: scan.stopped
                    ) { key, view throws(HoldfastError) in
                        try scan.meet(key, view, check, over: overlaid, cached, snapshot, visit)
                    }
                } else {
                    try plan.parts[number].walk(
                        repository, on: snapshot, cached: cached, after: scan.stopped?.id, behind: scan.stoppedNumber,
                        filter: filter
                    ) { view throws(HoldfastError) in
                        try scan.meet(noKey, view, check, over: overlaid, cached, snapshot, visit)
                    }
                }
            }
        }
        scan.hasWalked = scan.hasWalked || scan.goesOn
        while scan.goesOn, scan.next < scan.own.count {
            try scan.visitNextOwn(visit)
            // Nothing is lent, but a transaction's lock is held.
            if scan.goesOn, scan.pace.isOver(scan.own[scan.next - 1].entry.body?.count ?? 0) {
                scan.isPaused = true
                scan.goesOn = false
            }
        }
        scan.isFinished = scan.goesOn
    }

    /// Walks a plan that leaps. Where most of what it meets leads to a value of its own, or does not match, it goes back to the
    /// plain plan, which has nothing to leap over and reads the entities as they lie; what was visited may be visited again.
    private mutating func leap(
        _ repository: RepositoryID, _ check: EntityCheck, on snapshot: any StorageSnapshot,
        _ visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        guard let plainPlan, let index = plan.parts[0].index else { return }
        let overlaid = Set(own.map(\.key.id))
        let (trial, patience) = (Limits.inForce.leapTrial, Limits.inForce.leapEntries)
        var scan = self
        defer { self = scan }
        var pays = true
        try plan.parts[0].leap(index, of: repository, on: snapshot, after: stopped) { passed in
            scan.metLeaping += 1
            return scan.metLeaping < trial && passed < patience
        } hasLeapt: {
            scan.leaps += 1
        } _: { key, view throws(HoldfastError) in
            let isOverlaid = !overlaid.isEmpty && overlaid.contains(EntityID(unchecked: Array(view.id)))
            var isVisited = false
            let goesOn = try scan.meet(key, view, check, isOverlaid: isOverlaid) { view throws(HoldfastError) in
                isVisited = true
                return try visit(view)
            }
            scan.metLeaping += 1
            pays = scan.metLeaping < trial || scan.leaps >= UInt64(scan.metLeaping / Self.metForLeap)
            return goesOn && pays ? isVisited ? .matched : .passed : .stop
        }
        if scan.goesOn && pays { scan.hasWalked = true }
        if !pays {
            (scan.plan, scan.plainPlan) = (plainPlan, nil)
            (scan.stopped, scan.isPaused, scan.goesOn) = (nil, false, true)
        }
    }

    /// As many entries as this may be read for one leap.
    private static let metForLeap = 24

    /// What the transaction had written of this entity when the scan began, if it had.
    func ownEntry(of id: EntityID) -> WriteBuffer.Entry? {
        let place = own.partitioningIndex { plan.isReversed ? $0.key.id <= id : $0.key.id >= id }
        return place < own.count && own[place].key.id == id ? own[place].entry : nil
    }

    private mutating func choosePlan(
        _ repository: RepositoryID, _ check: EntityCheck, on snapshot: any StorageSnapshot
    ) throws(HoldfastError) {
        let key = check.key
        if isPlanned {
            let known = plan.parts.contains { $0.index != nil } ? try snapshot.indexes() : []
            for case let index? in plan.parts.map(\.index) where !known.contains(index.record) {
                throw HoldfastError(
                    .conflict,
                    "the index \"\(index.record.name)\", along which a cursor goes, has changed: open the cursor again",
                    detail: [("index", .text(index.record.name))])
            }
            if let searched, searched != snapshot.sequence { try goOn(behind: searched) }
            return
        }
        // Own writes come behind what is walked along an index, and so in no order; by ids they come in theirs.
        let indexes = try snapshot.indexes(of: repository)
        plan = Plan.best(
            for: filter, among: indexes, key: key, seeksIDs: snapshot.seeksIDs,
            idsAreTexts: try idsAreTexts(repository, check, on: snapshot), sort: sort,
            indexSort: own.isEmpty ? sort : [], isLimited: isLimited)
        if let search = filter.text, wantsScores || plan.asksForText {
            guard try find(search, among: indexes, on: snapshot) else {
                isPaused = true
                return
            }
        }
        readsKeysAlone = !wantsBodies && !skipsDamaged && plan.isOfKeysAlone
        // A transaction relies on each entity that it found by a filter, and those that are leapt over nobody sees.
        if let distinct, !skipsDamaged, matchedLimit == nil || filter.isAll,
            let leaping = plan.leaping(along: distinct, among: indexes)
        {
            (plainPlan, plan) = (plan, leaping)
        }
        if plan.isReversed { own.reverse() }
        if takesAnyOrder, !filter.isAll, plan.isByID, plan.parts[0].isEverything, !plan.isSorted,
            try snapshot.readsFasterAsItLies(repository)
        {
            plan = plan.asTheyLie
        }
        matched = matchedLimit != nil && !filter.isAll ? FoundIDs() : nil
        isPlanned = true
    }

    /// Goes on in a newer state with what a text index has found in that one. What matches only since then is a conflict for
    /// who moves forward, so nothing is missing; but what was not met yet may match no longer.
    private mutating func goOn(behind searched: CommitSequence) throws(HoldfastError) {
        if plan.isOfTheBest {
            throw HoldfastError(
                .conflict, "the best matches may be others than when the text index was asked: ask again")
        }
        plan = plan.asked
        readsKeysAlone = false
    }

    /// Gives the plan what the text index finds. Answers false where it is time for a question before that.
    private mutating func find(
        _ search: WordSearch, among indexes: [Index], on snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> Bool {
        if hits?.sequence != snapshot.sequence {
            let index = indexes.first { $0.record.state == .ready && $0.definition.text == search.definition }
            guard let index else {
                throw HoldfastError(
                    .conflict, "the text index by which the query is scored is not in its snapshot: ask again")
            }
            // The best are those of the index alone where nothing else is asked for.
            let isAlone = own.isEmpty && plan.parts.count == 1 && filter.conjuncts.count == 1
            let wish = TextHits.Wish(
                documents: plan.asksForText, ranking: wantsScores, best: isAlone ? bestCount : nil)
            hits = TextHits(search, by: index, at: snapshot.sequence, wish)
        }
        guard let answer = try hits!.go(on: snapshot, &pace) else { return false }
        hits = nil
        searched = snapshot.sequence
        if let documents = answer.documents {
            plan = plan.found(documents, isExact: answer.isExact, for: filter)
            plan.isOfTheBest = answer.isOfTheBest
        }
        plan.ranking = answer.ranking
        return true
    }

    /// Whether ids are known to be texts, where an order by them is asked for.
    private func idsAreTexts(
        _ repository: RepositoryID, _ check: EntityCheck, on snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> Bool {
        guard sort.contains(where: { $0.path.leads(to: check.key) }),
            let record = try snapshot.repositories().first(where: { $0.id == repository }), record.idsAreTexts
        else { return false }
        return !own.contains { key, entry in entry.body.map { check.hasNumber(key.id, $0) } ?? false }
    }

    /// A candidate of the snapshot's.
    private mutating func meet(
        _ key: UnsafeRawBufferPointer, _ view: EntityView, _ check: EntityCheck, isOverlaid: Bool = false,
        _ visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool {
        if !plan.isExact { examined += 1 }
        if try isAnswer(view, check, isOverlaid: isOverlaid) {
            record(view.id)
            if !isOverlaid {
                goesOn = try visit(view)
                if !goesOn {
                    (stopped, stoppedNumber) = (try position(key, view), view.number)
                    return false
                }
            }
        }
        if pace.isOver(view.body.count) { pause(key, view) }
        return goesOn
    }

    /// The same of a candidate along an index, which may come twice. What is read for the answer is taken into the cache. (A
    /// function of its own, because one within `run` that another captures checks each access to what it captures.)
    private mutating func meet(
        _ key: UnsafeRawBufferPointer, _ view: EntityView, _ check: EntityCheck, over overlaid: Set<EntityID>,
        _ cached: CachedWalk?, _ snapshot: any StorageSnapshot, _ visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool {
        var isOverlaid = false
        if !overlaid.isEmpty || plan.meetsTwice {
            let id = EntityID(unchecked: Array(view.id))
            if plan.meetsTwice, !met.insert(id).inserted { return true }
            isOverlaid = overlaid.contains(id)
        }
        var fills = fills
        defer { self.fills = fills }
        return try meet(key, view, check, isOverlaid: isOverlaid) { view throws(HoldfastError) in
            if fills, !view.isCached, let cached { fills = cached.fill(from: snapshot, view) }
            return try visit(view)
        }
    }

    /// Stops, if it can be said where: at a damaged entity it may not, and behind one without an id nobody could go on.
    private mutating func pause(_ key: UnsafeRawBufferPointer, _ view: EntityView) {
        guard !view.id.isEmpty, let here = try? position(key, view) else { return }
        (stopped, stoppedNumber) = (here, view.number)
        isPaused = true
        goesOn = false
    }

    /// What the cache has of what is walked, where each entity is wanted as a whole, which is then looked at, too, and can be
    /// taken in. Where all entities are walked, most are in no cache.
    private func cachedWalk(
        _ cache: EntityCache, _ repository: RepositoryID, on snapshot: any StorageSnapshot
    ) -> CachedWalk? {
        guard snapshot.asksForCached, wantsBodies, !skipsDamaged,
            plan.parts.allSatisfy({ $0.search == nil && !$0.isEverything })
        else { return nil }
        return CachedWalk(cache, repository, at: snapshot.sequence)
    }

    /// Whether a candidate matches. What is damaged matches nothing.
    private func isAnswer(
        _ view: EntityView, _ check: EntityCheck, isOverlaid: Bool
    ) throws(HoldfastError) -> Bool {
        if readsKeysAlone { return true }
        if view.isCached { if plan.isExact { return true } else { return try filter.matches(view.body) } }
        if check.hasOwnID(view) {
            do throws(HoldfastError) {
                if !plan.isExact {
                    guard try filter.matches(view.body) else { return false }
                }
                if isOverlaid || !(wantsBodies || skipsDamaged) || EntityCheck.isJSON(view.body) { return true }
            } catch {
                guard error.status == .corrupt else { throw error }
            }
        }
        // The transaction has written it anew, or deletes it.
        if skipsDamaged || isOverlaid { return false }
        throw check.refusal(of: view)
    }

    /// Where the walk is. Of an index without arrays no keys are read: an entity has one there, which its text tells.
    private func position(
        _ key: UnsafeRawBufferPointer, _ view: EntityView
    ) throws(HoldfastError) -> IndexScan.Position {
        let id = EntityID(unchecked: Array(view.id))
        guard let index = plan.parts[part].index, !index.hasArrays, !readsKeysAlone, plainPlan == nil else {
            return IndexScan.Position(key: Array(key), id: id)
        }
        let position = IndexScan.Position(key: try index.keys(of: view.body, id, in: "the entity").keys[0], id: id)
        if let stopped, !plan.parts[part].goes(from: stopped, to: position) {
            throw HoldfastError(
                .corrupt, "the index \"\(index.record.name)\" is damaged: drop it and create it again",
                detail: [("index", .text(index.record.name)), ("id", .text(id.text))])
        }
        return position
    }

    private var noKey: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    /// Visits the own writes up to an id, and answers whether that one is among them.
    private mutating func visitOwn(
        upTo id: UnsafeRawBufferPointer, _ visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool {
        while goesOn, next < own.count {
            let order = own[next].key.id.bytes.withBytes { compareBytes($0, id) }
            if plan.isReversed ? order < 0 : order > 0 { break }
            try visitNextOwn(visit)
            // Not at the candidate's own id, behind which it would go on without having met that.
            if goesOn, order != 0, pace.isOver(own[next - 1].entry.body?.count ?? 0) {
                isPaused = true
                goesOn = false
            }
            if !goesOn { stopped = IndexScan.Position(key: [], id: own[next - 1].key.id) }
        }
        return next > 0 && own[next - 1].key.id.bytes.elementsEqual(id)
    }

    private mutating func visitNextOwn(
        _ visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        let (key, entry) = own[next]
        next += 1
        guard let body = entry.body else { return }
        if !filter.isAll { examined += 1 }
        let filter = filter
        goesOn = try key.id.bytes.withBytes { id throws(HoldfastError) in
            try body.withBytes { body throws(HoldfastError) in
                try filter.matches(body) ? try visit(EntityView(id: id, version: 0, body: body)) : true
            }
        }
    }

    private mutating func record(_ id: UnsafeRawBufferPointer) {
        guard matched != nil, let matchedLimit else { return }
        if matched!.count < matchedLimit {
            matched!.append(id)
        } else {
            matched = nil
        }
    }
}
