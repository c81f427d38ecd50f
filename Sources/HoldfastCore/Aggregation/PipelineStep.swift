internal import HoldfastEnvironment
internal import HoldfastQuery

/// Documents that wait for a step.
struct DocumentQueue {
    private var documents: [JSONValue] = []
    private var next = 0

    var isEmpty: Bool { next == documents.count }

    mutating func put(_ added: [JSONValue]) {
        if isEmpty {
            documents = added
            next = 0
        } else {
            documents += added
        }
    }

    /// All, without taking them.
    var all: ArraySlice<JSONValue> { documents[next...] }

    /// The first, without taking it.
    var first: JSONValue { documents[next] }

    mutating func removeFirst() { next += 1 }

    mutating func takeAll() -> ArraySlice<JSONValue> {
        defer { removeAll() }
        return documents[next...]
    }

    mutating func removeAll() {
        documents = []
        next = 0
    }
}

/// A stage that is being carried out.
protocol PipelineStep: AnyObject {
    /// Takes documents in, some at least, and adds those that go on to `out`: not many more than come in one piece.
    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) throws(HoldfastError)
    /// Whether nothing that comes will change anything any more.
    var isSatisfied: Bool { get }
    /// Behind the last document: adds some of those that were kept back; answers whether there are more.
    func finish(_ out: inout [JSONValue]) throws(HoldfastError) -> Bool
}

extension PipelineStep {
    var isSatisfied: Bool { false }
    func finish(_ out: inout [JSONValue]) throws(HoldfastError) -> Bool { false }
}

/// Texts of documents, for what is asked of texts alone: filters, and orders.
struct DocumentText {
    /// The members that are looked at; nil for all.
    private let names: Set<[UInt8]>?

    init(_ use: FieldUse) { names = use.names }

    func with<Result>(
        _ document: JSONValue, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        var document = document
        if let names, case .object(let members) = document {
            document = .object(members.filter { names.contains($0.name) })
        }
        try Memory.ask(for: 2 * document.memory)
        var writer = JSONWriter()
        writer.value(document)
        return try writer.bytes.withBytes(body)
    }
}

/// A stage that looks at each document by itself.
final class EachStep: PipelineStep {
    private let place: StagePlace
    private let body: (JSONValue) throws(HoldfastError) -> (document: JSONValue, made: Int)?
    private let maxBytes: Int
    private var pace = Interrupt.Pace()

    /// `body` answers what goes on in a document's place, and of how many bytes that was made. Documents wait when more than
    /// `maxBytes` were made, until those are gone on.
    init(
        _ place: StagePlace, _ maxBytes: Int,
        _ body: @escaping (JSONValue) throws(HoldfastError) -> (document: JSONValue, made: Int)?
    ) {
        self.place = place
        self.maxBytes = maxBytes
        self.body = body
    }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) throws(HoldfastError) {
        var bytes = 0
        while !documents.isEmpty, bytes < maxBytes {
            let document = documents.first
            documents.removeFirst()
            try pace.look()
            do throws(HoldfastError) {
                guard let made = try body(document) else { continue }
                out.append(made.document)
                bytes += made.made
            } catch { throw place.located(error) }
        }
        if documents.isEmpty { documents.removeAll() }
    }
}

final class SkipStep: PipelineStep {
    private var left: UInt64

    init(_ count: UInt64) { left = count }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) {
        let all = documents.takeAll()
        let skipped = min(left, UInt64(all.count))
        left -= skipped
        out += all.dropFirst(Int(skipped))
    }
}

final class LimitStep: PipelineStep {
    private var left: UInt64

    init(_ count: UInt64) { left = count }

    var isSatisfied: Bool { left == 0 }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) {
        let taken = documents.takeAll().prefix(Int(clamping: left))
        left -= UInt64(taken.count)
        out += taken
    }
}

final class CountStep: PipelineStep {
    private let name: [UInt8]
    private var count: Int64 = 0

    init(name: [UInt8]) { self.name = name }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) {
        count += Int64(documents.takeAll().count)
    }

    func finish(_ out: inout [JSONValue]) -> Bool {
        if count > 0 { out.append(.object([JSONValue.Member(name: name, value: .integer(count))])) }
        return false
    }
}

/// Makes of each document as many as an array of it has elements, a piece at a time.
final class UnwindStep: PipelineStep {
    private let place: StagePlace
    private let unwinding: Unwinding
    private let options: AggregationOptions
    private let maxDocuments: Int
    private var pace = Interrupt.Pace()
    /// How many were made of the document that is first.
    private var made = 0

    init(_ place: StagePlace, _ unwinding: Unwinding, _ options: AggregationOptions, maxDocuments: Int) {
        self.place = place
        self.unwinding = unwinding
        self.options = options
        self.maxDocuments = maxDocuments
    }

    func take(_ documents: inout DocumentQueue, _ out: inout [JSONValue]) throws(HoldfastError) {
        while !documents.isEmpty, out.count < maxDocuments {
            let document = documents.first
            let count = unwinding.count(document)
            while made < count, out.count < maxDocuments {
                try pace.look()
                let element = unwinding.made(made, of: document)
                // The path of the number may be long.
                if unwinding.isNumbering { try place.requireExtent(of: element, options.maxDepth) }
                out.append(element)
                made += 1
            }
            if made < count { return }
            made = 0
            documents.removeFirst()
        }
        if documents.isEmpty { documents.removeAll() }
    }
}
