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
                for number in checks.indices { checks[number].expect(view) }
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

/// One index.
private struct IndexCheck {
    /// Entries, whatever their order: how many, and the sum of their hashes.
    private struct Tally: Equatable {
        var count: UInt64 = 0
        var sum: UInt64 = 0

        mutating func add(_ key: UnsafeRawBufferPointer, _ entity: EntityView) {
            var hasher = Hasher()
            hasher.combine(bytes: key)
            hasher.combine(key.count)
            hasher.combine(bytes: entity.id)
            hasher.combine(entity.number)
            sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
            count += 1
        }
    }

    let index: Index
    private var expected = Tally()
    private var found = Tally()
    private var right: UInt64 = 0

    init(index: Index) { self.index = index }

    var isRight: Bool { found == expected }

    mutating func expect(_ view: EntityView) {
        for key in (try? IndexKeys(of: view.body, for: index.definition))?.keys ?? [] {
            key.withBytes { expected.add($0, view) }
        }
    }

    mutating func walk(on snapshot: any StorageSnapshot) throws(HoldfastError) {
        var scan = IndexScan(
            index: index.record.id, repository: index.record.repository, range: .all, readsEntities: false)
        var found = Tally()
        try snapshot.scan(scan) { key, view in
            found.add(key, view)
            return true
        }
        self.found = found
        // Only an index that is not right is held against its entities one by one: that takes the keys of an entity for
        // each of its entries.
        if found == expected {
            right = found.count
            return
        }
        scan.readsEntities = true
        var right: UInt64 = 0
        try snapshot.scan(scan) { key, view in
            let keys = (try? IndexKeys(of: view.body, for: index.definition))?.keys ?? []
            if keys.contains(where: { $0.elementsEqual(key) }) { right += 1 }
            return true
        }
        self.right = right
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name")
        writer.string(index.record.name)
        writer.member("entries")
        writer.unsigned(found.count)
        writer.member("wrong")
        writer.unsigned(found.count - right)
        writer.member("missing")
        writer.unsigned(expected.count > right ? expected.count - right : 0)
        writer.endObject()
    }
}
