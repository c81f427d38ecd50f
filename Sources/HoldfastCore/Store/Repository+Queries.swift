public import HoldfastEnvironment
public import HoldfastQuery
public import HoldfastStorage

/// Queries: reading by a filter.
extension Repository {
    /// Compiles a filter, or finds it compiled, and binds its parameters; nil stands for the filter that every entity
    /// matches.
    public func filter(
        _ text: UnsafeRawBufferPointer?, _ parameters: [JSONValue.Member] = []
    ) throws(HoldfastError) -> Filter {
        let template = try text.map { text throws(HoldfastError) in
            try filters.template(text, limits: store.options.limits)
        }
        guard let template, template.asksForText else { return try (template ?? .all).bind(parameters) }
        return try template.bind(parameters, text: textDefinition())
    }

    /// What the repository's text index is over, where it has one that is ready.
    func textDefinition() throws(HoldfastError) -> TextDefinition? {
        try store.requireOpen()
        return try store.read { snapshot throws(HoldfastError) in
            let texts = try snapshot.indexes(of: record.id).filter { $0.definition.text != nil }
            if let ready = texts.first(where: { $0.record.state == .ready }) { return ready.definition.text }
            guard let building = texts.first(where: { $0.record.state == .building }) else {
                try refuseOutdatedTexts(in: snapshot)
                return nil
            }
            let name = building.record.name
            throw HoldfastError(
                .invalidQuery,
                "\"$text\" needs the text index \"\(name)\", which is still building: ask when the call that creates it "
                    + "has returned, and where that has ended without, create the index again: it goes on",
                detail: [("operator", .text("$text")), ("index", .text(name))])
        }
    }

    /// An index whose entries another version of the library made says so itself.
    private func refuseOutdatedTexts(in snapshot: any StorageSnapshot) throws(HoldfastError) {
        for index in try snapshot.indexes() where index.repository == record.id {
            do throws(HoldfastError) { _ = try Index(index) } catch {
                if error.status == .unsupported { throw error }
            }
        }
    }

    /// The entities that match, as the options want them; without a sort order by their ids, or as an index has them.
    public func find(
        _ filter: Filter = .all, _ options: QueryOptions = QueryOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> EntityList {
        try options.check(for: filter)
        if let order = options.sort { return try find(filter, options, by: order, in: transaction) }
        var list = EntityList()
        var skipped: UInt64 = 0
        var ranking: TextRanking?
        // What lies in another order than that of the ids is brought into it.
        var sorter: Sorter?
        let query = QueryScan(
            filter, skipsDamaged: options.skipsDamaged, wantsScores: options.wantsScores,
            takesAnyOrder: options.limit == 0)
        try scan(query, in: transaction) {
            list = EntityList()
            skipped = 0
            ranking = $0.ranking
            sorter = $0.isAsTheyLie ? Sorter(.byID, nil, keeping: Int.max / 4) : nil
        } visit: { view throws(HoldfastError) in
            if sorter != nil {
                try sorter!.add(view)
                return true
            }
            if skipped < options.skip {
                skipped += 1
                return true
            }
            try list.append(view, options.projection, ranking)
            return options.limit == 0 || UInt64(list.count) < options.limit
        }
        for item in try sorter?.finish().dropFirst(Int(clamping: options.skip)) ?? [] {
            try item.withView { view throws(HoldfastError) in try list.append(view, options.projection, ranking) }
        }
        try list.finish()
        return list
    }

    private func find(
        _ filter: Filter, _ options: QueryOptions, by order: SortOrder, in transaction: Transaction?
    ) throws(HoldfastError) -> EntityList {
        let capacity = options.limit == 0 ? Int.max / 4 : Int(options.skip + options.limit)
        var sorter = Sorter(order, nil, keeping: capacity)
        var ranking: TextRanking?
        var list = EntityList()
        var isSorted = false
        var skipped: UInt64 = 0
        let query = QueryScan(
            filter, sort: order.indexFields, isLimited: options.limit > 0, skipsDamaged: options.skipsDamaged,
            wantsScores: options.wantsScores,
            bestCount: order.isByScoreAlone && options.limit > 0 && !options.skipsDamaged ? capacity : nil,
            takesAnyOrder: true)
        try scan(query, in: transaction) {
            sorter = Sorter(order, $0.ranking, keeping: capacity)
            ranking = $0.ranking
            list = EntityList()
            isSorted = $0.isSorted
            skipped = 0
        } visit: { view throws(HoldfastError) in
            if !isSorted {
                try sorter.add(view)
                return true
            }
            if skipped < options.skip {
                skipped += 1
                return true
            }
            try list.append(view, options.projection, ranking)
            return options.limit == 0 || UInt64(list.count) < options.limit
        }
        for item in try sorter.finish().dropFirst(Int(options.skip)) {
            try item.withView { view throws(HoldfastError) in try list.append(view, options.projection, ranking) }
        }
        try list.finish()
        return list
    }

    /// What `find` would answer, in pieces. Nothing is read yet.
    public func cursor(
        _ filter: Filter = .all, _ options: QueryOptions = QueryOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> Cursor {
        try Cursor(self, filter, options, in: checked(transaction))
    }

    /// The first of what `find` answers.
    public func first(
        _ filter: Filter = .all, _ options: QueryOptions = QueryOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> Entity? {
        var options = options
        options.limit = 1
        let list = try find(filter, options, in: transaction)
        guard let item = list.items.first else { return nil }
        return Entity(id: list.id(of: item), body: try list.body(of: item), version: item.version)
    }

    public func count(
        _ filter: Filter = .all, _ options: QueryOptions = QueryOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> UInt64 {
        var count: UInt64 = 0
        let query = QueryScan(filter, skipsDamaged: options.skipsDamaged, wantsBodies: false, takesAnyOrder: true)
        try scan(query, in: transaction) { _ in
            count = 0
        } visit: { _ in
            count += 1
            return true
        }
        return count
    }

    /// Whether any entity matches.
    public func exists(
        _ filter: Filter = .all, _ options: QueryOptions = QueryOptions(), in transaction: Transaction? = nil
    ) throws(HoldfastError) -> Bool {
        var exists = false
        let query = QueryScan(filter, isLimited: true, skipsDamaged: options.skipsDamaged, wantsBodies: false)
        try scan(query, in: transaction) { _ in
            exists = false
        } visit: { _ in
            exists = true
            return false
        }
        return exists
    }

    /// The distinct values that a path leads to in the entities that match, as a JSON array in their order. An array
    /// gives its elements; of equal values, the one in the entity with the least id stands for all.
    public func distinct(
        _ path: [UInt8], _ filter: Filter = .all, _ options: QueryOptions = QueryOptions(),
        in transaction: Transaction? = nil
    ) throws(HoldfastError) -> [UInt8] {
        if path.first == UInt8(ascii: "$") {
            let text = String(decoding: path, as: UTF8.self)
            throw HoldfastError(
                .invalidQuery, "the path \"\(text)\" begins with \"$\", as in expressions: write it without",
                detail: [("path", .text(text))])
        }
        let path = try Path(path, what: "call")
        var values = DistinctValues(of: path)
        try scan(QueryScan(filter, skipsDamaged: options.skipsDamaged, distinct: path), in: transaction) { _ in
            values = DistinctValues(of: path)
        } visit: { view throws(HoldfastError) in
            try values.collect(from: view)
            return true
        }
        return try values.json()
    }

    /// The entities for which the host's own predicate answers true, as the options want them. It counts as a read of
    /// the whole repository, and runs when the reading is done, outside all locks.
    public func find(
        _ options: QueryOptions, in transaction: Transaction? = nil,
        where predicate: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> EntityList {
        try options.refuseScores("a predicate has none")
        var reading = QueryOptions()
        reading.sort = options.sort
        reading.skipsDamaged = options.skipsDamaged
        let all = try find(.all, reading, in: transaction)
        var list = EntityList()
        var skipped: UInt64 = 0
        var pace = Interrupt.Pace()
        for item in all.items {
            try pace.look(item.body.count)
            if options.limit > 0, UInt64(list.count) == options.limit { break }
            try all.withView(of: item) { view throws(HoldfastError) in
                guard try predicate(view) else { return }
                if skipped < options.skip {
                    skipped += 1
                } else {
                    try list.append(view, options.projection)
                }
            }
        }
        try list.finish()
        return list
    }
}

extension EntityList {
    /// `ranking` is asked for where there is a projection: to copy it costs more than the rest does without one.
    mutating func append(
        _ view: EntityView, _ projection: Projection?, _ ranking: @autoclosure () -> TextRanking? = nil
    ) throws(HoldfastError) {
        guard let projection else { return try append(id: view.id, version: view.version, body: view.body) }
        // No more than the whole, and the scores.
        try Memory.ask(for: view.body.count)
        var text: [UInt8] = []
        let score = projection.hasScores ? try ranking()?.score(of: view.body) : nil
        try projection.append(view.body, score: score, to: &text)
        try text.withBytes { bytes throws(HoldfastError) in try append(id: view.id, version: view.version, body: bytes)
        }
    }
}
