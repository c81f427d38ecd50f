internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// How the distinct values of a path are found along an index whose keys hold them: of the entries with one key, the first that
/// matches tells the value, and the others are leapt over by a seek behind them. They come in the order of their ids, so that
/// it is the one with the least.
extension Plan {
    /// The plan that leaps along the values of `path` instead of walking as this one does; nil where no index can. Along this
    /// plan's own index, where that has the path; and where every entity is a candidate, along the shortest that has it.
    func leaping(along path: Path, among indexes: [Index]) -> Plan? {
        guard parts.count == 1 else { return nil }
        var part = parts[0]
        if part.isEverything {
            // Under each of its values an entity has an entry, so that any of them leads to all that match. Only a number in a
            // path picks an element in one way for conditions and in another for entries.
            let index = indexes.filter {
                $0.record.state == .ready && $0.definition.text == nil
                    && $0.definition.fields.contains { $0.path == path }
                    && (!$0.hasArrays || !$0.definition.isOutdated && path.indexes == 0)
            }.min { $0.definition.fields.count < $1.definition.fields.count }
            guard let index else { return nil }
            part = Part(index: index, ranges: part.ranges)
        } else if part.index?.hasArrays ?? true {
            // An entity that the filter holds for may have values with no entry in these ranges.
            return nil
        }
        part.wantedField = part.index?.definition.fields.firstIndex { $0.path == path }
        return part.wantedField == nil ? nil : Plan(parts: [part], isExact: isExact, isSorted: false)
    }
}

extension Plan.Part {
    /// What became of a candidate.
    enum Meeting { case matched, passed, stop }

    /// As `walk`, but leaps over the entries that have the key of a candidate that has matched. `passes` is told how many of
    /// them were met one by one, and answers whether the next is.
    func leap(
        _ index: Index, of repository: RepositoryID, on snapshot: any StorageSnapshot, after: IndexScan.Position?,
        passes: (Int) -> Bool, hasLeapt: () -> Void,
        _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Meeting
    ) throws(HoldfastError) {
        var scan = IndexScan(index: index.record.id, repository: repository, range: .all)
        for range in ranges {
            scan.range = range
            scan.after = nil
            if let after {
                if !after.key.precedes(range.upper) { continue }
                if !after.key.precedes(range.lower) { scan.after = after }
            }
            var goesOn = true
            var seeks = false
            repeat {
                seeks = false
                // The key whose value is known, and how many entries with it were met since.
                var known: [UInt8]?
                var passed = 0
                try snapshot.scan(scan) { key, view throws(HoldfastError) in
                    if let told = known {
                        if told.withBytes({ compareBytes(key, $0) }) == 0 {
                            passed += 1
                            seeks = !passes(passed)
                            return !seeks
                        }
                        known = nil
                    }
                    switch try body(key, view) {
                    case .matched:
                        known = tells(view, key, index) ? Array(key) : nil
                        passed = 0
                    case .passed: break
                    case .stop: goesOn = false
                    }
                    return goesOn
                }
                if seeks, let known {
                    hasLeapt()
                    scan.range.lower = known + [0]
                    scan.after = nil
                }
            } while seeks
            if !goesOn { return }
        }
    }

    /// Whether the entity has the value that the key stands for: null stands for what is missing, too, which is none.
    private func tells(_ entity: EntityView, _ key: UnsafeRawBufferPointer, _ index: Index) -> Bool {
        guard let wantedField else { return false }
        let fields = index.definition.fields[...wantedField]
        var decoder = KeyDecoder(bytes: Array(key))
        var value = JSONValue.null
        for field in fields { value = decoder.value(descending: field.descending) }
        guard value.kind == .null else { return true }
        let walker = JSONWalker(entity.body)
        let isThere = try? walker.visitValues(of: fields.last!.path) { position throws(CorruptJSON) in
            try walker.kind(at: position) == .null
        }
        return isThere ?? false
    }
}
