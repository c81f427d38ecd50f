internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Goes through a row of names, in the order of their ids; see TextRows.swift.
struct NameReader {
    private let index: Index
    private var numbers: NumberReader
    private(set) var id: [UInt8] = []
    private(set) var number: UInt64 = 0

    init(_ key: UnsafeRawBufferPointer, of index: Index) throws(HoldfastError) {
        self.index = index
        numbers = NumberReader(key, from: 1)
        while true {
            guard numbers.position + 1 < key.count else { throw index.damage }
            let byte = key[numbers.position]
            let isEnd = byte == 0 && key[numbers.position + 1] == 0
            numbers.position += byte == 0 ? 2 : 1
            if isEnd { return }
            id.append(byte)
        }
    }

    /// Answers false behind the last.
    mutating func next() throws(HoldfastError) -> Bool {
        if numbers.isAtEnd { return false }
        guard numbers.nextID(&id), let number = numbers.next(), number > 0 else { throw index.damage }
        self.number = number
        return true
    }
}

/// What becomes of names, and from that of the rows that hold them.
struct NameEdits {
    /// The rows that were read, each once.
    private var rows: [[UInt8]] = []
    private var numbers: [[UInt8]: Int] = [:]
    /// Of an entity that was looked for, which of them has it, or is to have it; nil of who comes before all rows.
    private var places: [EntityID: Int] = [:]

    /// Finds the numbers of entities, whose ids are in order; `note` is told those that have one. Those of a build, of
    /// which each is likely to come behind all names that there are, are looked for together before each is for itself.
    mutating func look(
        for ids: [EntityID], isBuild: Bool, in index: Index, _ lastKeys: PostingEdits.LastKeys,
        _ note: (EntityID, UInt64) -> Void
    ) throws(HoldfastError) {
        guard let first = ids.first, let last = ids.last else { return }
        if isBuild {
            var isBehind = true
            var row: [UInt8]?
            try lastKeys([TextRows.range(of: last)]) { _, key throws(HoldfastError) in
                row = Array(key)
                var reader = try NameReader(key, of: index)
                while try reader.next() { isBehind = reader.id.precedes(first.bytes) }
            }
            if isBehind {
                guard let row else { return }
                let place = place(of: row)
                try places.askToGrow(by: ids.count)
                for id in ids { places[id] = place }
                return
            }
        }
        try places.askToGrow(by: ids.count)
        var found: [Int?] = ids.map { _ in nil }
        var recent: Int?
        try lastKeys(ids.map(TextRows.range(of:))) { number, key throws(HoldfastError) in
            // Most often it is the one before again.
            let isSame = recent.map { row in rows[row].withBytes { compareBytes($0, key) == 0 } } ?? false
            if !isSame { recent = place(of: Array(key)) }
            found[number] = recent
        }
        var next = 0
        while next < ids.count {
            guard let row = found[next] else {
                next += 1
                continue
            }
            try rows[row].withBytes { key throws(HoldfastError) in
                var reader = try NameReader(key, of: index)
                var isThere = try reader.next()
                while next < ids.count, found[next] == row {
                    let id = ids[next]
                    while isThere, reader.id.precedes(id.bytes) { isThere = try reader.next() }
                    if isThere, reader.id == id.bytes { note(id, reader.number) }
                    places[id] = row
                    next += 1
                }
            }
        }
    }

    private mutating func place(of row: [UInt8]) -> Int {
        if let place = numbers[row] { return place }
        rows.append(row)
        numbers[row] = rows.count - 1
        return rows.count - 1
    }

    /// What becomes of the rows, where these entities, in the order of their ids, get these numbers, and have none any longer
    /// where it is nil. All have been looked for.
    func outcome(
        _ names: [(id: EntityID, number: UInt64?)], in index: Index
    ) throws(HoldfastError) -> (removed: [[UInt8]], added: [[UInt8]]) {
        var (removed, added): ([[UInt8]], [[UInt8]]) = ([], [])
        var first = 0
        while first < names.count {
            let place = places[names[first].id]
            var end = first + 1
            while end < names.count, places[names[end].id] == place { end += 1 }
            var merged: [(id: [UInt8], number: UInt64)] = []
            var next = first
            func take(upTo id: [UInt8]?) -> Bool {
                while next < end, id.map({ names[next].id.bytes.precedes($0) }) ?? true {
                    if let number = names[next].number { merged.append((names[next].id.bytes, number)) }
                    next += 1
                }
                guard let id, next < end, names[next].id.bytes == id else { return false }
                if let number = names[next].number { merged.append((id, number)) }
                next += 1
                return true
            }
            var isBehind = true
            if let place {
                removed.append(rows[place])
                try rows[place].withBytes { row throws(HoldfastError) in
                    var reader = try NameReader(row, of: index)
                    while try reader.next() {
                        if !take(upTo: reader.id) { merged.append((reader.id, reader.number)) }
                    }
                }
                isBehind = next == first
            }
            _ = take(upTo: nil)
            added += Self.rows(of: merged, isBehind: isBehind)
            first = end
        }
        return (removed, added)
    }

    /// As few rows as they fit in. Where all that is new is behind what there was, more will come there: then all rows but
    /// the last are full. Otherwise all are about equally long, so that there is room in each.
    private static func rows(of names: [(id: [UInt8], number: UInt64)], isBehind: Bool) -> [[UInt8]] {
        var entries: [[UInt8]] = []
        entries.reserveCapacity(names.count)
        var before: [UInt8] = []
        for name in names {
            entries.append(entry(name, behind: before))
            before = name.id
        }
        let size = entries.reduce(0) { $0 + $1.count }
        let count = size / TextRows.blockBytes + 1
        let wanted = isBehind || count == 1 ? TextRows.blockBytes : size / count
        var (rows, row): ([[UInt8]], [UInt8]) = ([], [])
        for (name, entry) in zip(names, entries) {
            if row.isEmpty || row.count + entry.count > TextRows.blockBytes || row.count >= wanted {
                if !row.isEmpty { rows.append(row) }
                row = TextRows.nameHead(of: name.id) + Self.entry(name, behind: name.id)
            } else {
                row += entry
            }
        }
        if !row.isEmpty { rows.append(row) }
        return rows
    }

    private static func entry(_ name: (id: [UInt8], number: UInt64), behind before: [UInt8]) -> [UInt8] {
        var entry: [UInt8] = []
        entry.appendID(name.id, behind: before)
        entry.appendNumber(name.number)
        return entry
    }
}
