internal import HoldfastEnvironment
internal import HoldfastQuery

/// Keeps documents and gives them back in order, those of equal keys as they came. Where only the first are wanted it never
/// keeps more than twice as many.
final class SortStep: PipelineStep {
    private struct Item {
        let key: [UInt8]
        let number: UInt64
        let document: JSONValue
        let weight: Int
    }

    private let place: StagePlace
    private let order: SortOrder
    private let text: DocumentText
    /// How many are wanted.
    private let capacity: Int
    private let memory: MemoryAccount
    private let maxDocuments: Int
    private var items: [Item] = []
    private var added: UInt64 = 0
    private var worst: [UInt8]?
    private var isSorted = false
    private var next = 0
    private var pace = Interrupt.Pace()

    init(
        _ place: StagePlace, _ fields: [Pipeline.SortField], reads: FieldUse, keeping capacity: Int,
        _ memory: MemoryAccount, maxDocuments: Int
    ) {
        self.place = place
        order = SortOrder(fields: fields.map { SortOrder.Field(path: $0.path, descending: $0.descending) })
        text = DocumentText(reads)
        self.capacity = capacity
        self.memory = memory
        self.maxDocuments = maxDocuments
    }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) throws(HoldfastError) {
        for document in documents.takeAll() {
            try pace.look()
            let order = order
            let key = try text.with(document) { text throws(HoldfastError) in
                var key = OrderedKey()
                try order.appendKey(of: text, to: &key)
                return key.bytes
            }
            added += 1
            // Who comes later and is equal is behind.
            if let worst, !Self.precedes(key, worst) { continue }
            let weight = document.memory + key.count + MemoryLayout<Item>.stride
            try memory.take(weight, for: place)
            try items.askToGrow()
            items.append(Item(key: key, number: added, document: document, weight: weight))
            if items.count >= 2 * capacity { try sort() }
        }
    }

    func finish(_ out: inout [JSONValue]) throws(HoldfastError) -> Bool {
        if !isSorted {
            try sort()
            isSorted = true
        }
        let end = min(items.count, next + maxDocuments)
        for item in items[next..<end] {
            out.append(item.document)
            memory.giveBack(item.weight)
        }
        next = end
        if next < items.count { return true }
        items = []
        return false
    }

    private func sort() throws(HoldfastError) {
        try Interrupt.sort(&items) { left, right in
            left.key == right.key ? left.number < right.number : Self.precedes(left.key, right.key)
        }
        if items.count > capacity {
            for item in items[capacity...] { memory.giveBack(item.weight) }
            items.removeLast(items.count - capacity)
        }
        if items.count == capacity { worst = items.last?.key }
    }

    private static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withBytes { left in right.withBytes { compareBytes(left, $0) < 0 } }
    }
}
