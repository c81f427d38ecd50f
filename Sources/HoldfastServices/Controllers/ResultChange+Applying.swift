internal import HoldfastCore
internal import HoldfastQuery

extension ResultChange {
    /// Follows the change: `stream.h` says how. False where it does not fit the result at hand, which is then as it was.
    func apply(to elements: inout [Entity]) -> Bool {
        if removed.isEmpty && inserted.isEmpty && moved.isEmpty {
            guard fits(elements) else { return false }
            for one in changed { elements[one.position] = one.entity }
            return true
        }
        guard var result = rearranged(elements), fits(result) else { return false }
        for one in changed { result[one.position] = one.entity }
        elements = result
        return true
    }

    /// Whether each entity of "changed" stands where it should.
    private func fits(_ elements: [Entity]) -> Bool {
        changed.allSatisfy { one in
            one.position < elements.count && Self.agree(elements[one.position].id, one.entity.id)
        }
    }

    /// What is removed or moved is taken out, what is inserted or moved is put in; nil where that does not work out.
    private func rearranged(_ elements: [Entity]) -> [Entity]? {
        var leaves = [Bool](repeating: false, count: elements.count)
        for (position, id) in removed.map({ ($0.position, $0.id) }) + moved.map({ ($0.from, $0.id) }) {
            guard position < elements.count, !leaves[position] else { return nil }
            guard Self.agree(elements[position].id, id) else { return nil }
            leaves[position] = true
        }
        let arriving =
            (inserted.map { ($0.position, $0.entity) } + moved.map { ($0.to, elements[$0.from]) })
            .sorted { $0.0 < $1.0 }
        let count = elements.count - removed.count + inserted.count
        var result: [Entity] = []
        result.reserveCapacity(count)
        var next = 0
        var kept = 0
        while result.count < count {
            if next < arriving.count, arriving[next].0 == result.count {
                result.append(arriving[next].1)
                next += 1
                continue
            }
            while kept < elements.count, leaves[kept] { kept += 1 }
            guard kept < elements.count else { return nil }
            result.append(elements[kept])
            kept += 1
        }
        // Two for one place, or one beyond the end.
        return next == arriving.count ? result : nil
    }

    /// Ids that are not known agree with every other.
    private static func agree(_ one: EntityID, _ other: EntityID) -> Bool {
        one.bytes.isEmpty || other.bytes.isEmpty || one == other
    }
}
