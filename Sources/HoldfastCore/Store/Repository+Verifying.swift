/// Holding the indexes against the entities.
extension Repository {
    /// Walks every entity and every index of the repository on one snapshot, and reports as `hf_repository_verify` describes.
    public func verify() throws(HoldfastError) -> [UInt8] {
        try store.requireOpen()
        return try store.read { snapshot throws(HoldfastError) in
            var checks: [IndexCheck] = []
            for record in try snapshot.indexes().sorted(by: { $0.name < $1.name })
            where record.repository == self.record.id && record.state == .ready {
                checks.append(IndexCheck(index: try Index(record)))
            }
            var entities: UInt64 = 0
            try snapshot.scan(record.id, after: nil) { view in
                entities += 1
                for number in checks.indices { checks[number].expect(view.body) }
                return true
            }
            for number in checks.indices { try checks[number].walk(on: snapshot) }
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("ok")
            writer.boolean(checks.allSatisfy(\.isRight))
            writer.member("entities")
            writer.unsigned(entities)
            writer.member("indexes")
            writer.beginArray()
            for check in checks { check.write(to: &writer) }
            writer.endArray()
            writer.endObject()
            return writer.bytes
        }
    }
}

/// One index. Its entries are distinct, so where each of them is right and there are as many as there should be, none is
/// missing.
private struct IndexCheck {
    let index: Index
    private var expected: UInt64 = 0
    private var entries: UInt64 = 0
    private var wrong: UInt64 = 0

    init(index: Index) { self.index = index }

    private var right: UInt64 { entries - wrong }
    var isRight: Bool { wrong == 0 && right == expected }

    mutating func expect(_ text: UnsafeRawBufferPointer) {
        expected += UInt64((try? IndexKeys(of: text, for: index.definition))?.keys.count ?? 0)
    }

    mutating func walk(on snapshot: any StorageSnapshot) throws(HoldfastError) {
        var scan = IndexScan(index: index.record.id, repository: index.record.repository, range: .all)
        var right: UInt64 = 0
        try snapshot.scan(scan) { key, view in
            let keys = (try? IndexKeys(of: view.body, for: index.definition))?.keys ?? []
            if keys.contains(where: { $0.elementsEqual(key) }) { right += 1 }
            return true
        }
        // Entries of entities that there are not show only without them.
        scan.readsEntities = false
        entries = 0
        try snapshot.scan(scan) { _, _ in
            entries += 1
            return true
        }
        wrong = entries - right
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name")
        writer.string(index.record.name)
        writer.member("entries")
        writer.unsigned(entries)
        writer.member("wrong")
        writer.unsigned(wrong)
        writer.member("missing")
        writer.unsigned(expected > right ? expected - right : 0)
        writer.endObject()
    }
}
