internal import HoldfastEnvironment
internal import HoldfastQuery

/// Brings documents together by a key. Groups come in the order of their keys; where documents come so, each is given on
/// when the next begins, and no other is kept.
final class GroupStep: PipelineStep {
    private let place: StagePlace
    private let grouping: Grouping
    private let options: AggregationOptions
    private let memory: MemoryAccount
    private let maxDocuments: Int
    let comesGrouped: Bool
    private let stride: Int
    private var numbers: [OrderedKey: Int] = [:]
    private var ids: [JSONValue] = []
    /// As many for each group as it has fields.
    private var accumulators: [Accumulator] = []
    /// What the group takes that documents just come for, where they come grouped.
    private var taken = 0
    private var key = OrderedKey()
    private var lastKey = OrderedKey()
    private var lastNumber: Int?
    /// How many groups there were, also those that were given on.
    private var count = 0
    /// The groups by their keys, once all are there.
    private var sorted: [Int]?
    private var next = 0
    private var pace = Interrupt.Pace()

    init(
        _ place: StagePlace, _ grouping: Grouping, comesGrouped: Bool, _ options: AggregationOptions,
        _ memory: MemoryAccount, maxDocuments: Int
    ) {
        self.place = place
        self.grouping = grouping
        self.comesGrouped = comesGrouped
        self.options = options
        self.memory = memory
        self.maxDocuments = maxDocuments
        stride = grouping.fields.count
    }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) throws(HoldfastError) {
        do throws(HoldfastError) {
            for document in documents.takeAll() {
                try pace.look()
                let number = try number(of: try grouping.key(of: document, place), &out)
                for (field, place) in zip(grouping.fields, number * stride..<(number + 1) * stride) {
                    let before = accumulators[place].bytes
                    try field.accumulation.add(document, to: &accumulators[place])
                    let kept = accumulators[place].bytes - before
                    if kept != 0 {
                        try memory.change(by: kept, for: self.place)
                        taken += kept
                    }
                }
            }
        } catch { throw place.located(error) }
    }

    func finish(_ out: inout [JSONValue]) throws(HoldfastError) -> Bool {
        if sorted == nil {
            var entries = Array(numbers)
            numbers = [:]
            try Interrupt.sort(&entries) { $0.key < $1.key }
            sorted = comesGrouped ? Array(ids.indices) : entries.map(\.value)
        }
        let end = min(sorted!.count, next + maxDocuments)
        for number in sorted![next..<end] { out.append(try made(number)) }
        next = end
        if next < sorted!.count { return true }
        ids = []
        accumulators = []
        memory.giveBack(taken)
        return false
    }

    // MARK: Groups

    /// Of the group with this key, which may be a new one.
    private func number(of id: JSONValue, _ out: inout [JSONValue]) throws(HoldfastError) -> Int {
        key.bytes.removeAll(keepingCapacity: true)
        key.append(id)
        // Often the next document belongs to the same group.
        if let lastNumber, key == lastKey { return lastNumber }
        if comesGrouped {
            if lastNumber != nil {
                out.append(try made(0))
                ids = []
                accumulators.removeAll(keepingCapacity: true)
                memory.giveBack(taken)
                taken = 0
            }
        } else if let number = numbers[key] {
            swap(&lastKey, &key)
            lastNumber = number
            return number
        }
        try countGroup()
        let number = ids.count
        let weight = id.memory + key.bytes.count + 64 + stride * MemoryLayout<Accumulator>.stride
        try memory.take(weight, for: place)
        taken += weight
        try ids.askToGrow()
        try accumulators.askToGrow(by: stride)
        ids.append(id)
        for field in grouping.fields { accumulators.append(field.accumulation.begin()) }
        if !comesGrouped {
            try numbers.askToGrow()
            // In as much room as it needs: that of `key` has grown, and is used again.
            var own = OrderedKey()
            own.bytes = key.bytes.withBytes { Array($0) }
            numbers[own] = number
        }
        swap(&lastKey, &key)
        lastNumber = number
        return number
    }

    private func countGroup() throws(HoldfastError) {
        guard count < options.maxGroups else {
            throw place.refusal(
                "makes more than \(options.maxGroups) groups: let fewer documents come to it, group by less, or raise the "
                    + "option \"\(AggregationOptions.groupsOption)\"", option: AggregationOptions.groupsOption,
                limit: options.maxGroups)
        }
        count += 1
    }

    private func made(_ number: Int) throws(HoldfastError) -> JSONValue {
        var members = [JSONValue.Member(name: Array("_id".utf8), value: ids[number])]
        for (index, field) in grouping.fields.enumerated() {
            let value = try accumulators[number * stride + index].result
            members.append(JSONValue.Member(name: field.name, value: value))
        }
        let document = JSONValue.object(members)
        try place.requireExtent(of: document, options.maxDepth)
        return document
    }
}
