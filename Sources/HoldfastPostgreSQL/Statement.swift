internal import HoldfastEnvironment

/// One statement and its parameters, in the binary form of PostgreSQL's protocol.
struct Statement {
    private(set) var sql: String
    private var places: [Place] = []
    private(set) var bytes: [UInt8] = []
    /// Whether it is worth preparing: its text is one of a few, which are run again and again.
    private(set) var isRepeated = false

    init(_ sql: String, _ parameters: Parameter...) { self.init(sql, parameters) }

    init(_ sql: String, _ parameters: [Parameter]) {
        self.sql = sql
        places.reserveCapacity(parameters.count)
        bytes.reserveCapacity(16 * parameters.count)
        for parameter in parameters { add(parameter) }
    }

    /// One statement that runs the others as common table expressions before the last: the first as `moved`.
    init(moving parts: [Statement], _ texts: CombinedTexts) {
        sql = texts.text(of: parts)
        places.reserveCapacity(parts.reduce(0) { $0 + $1.places.count })
        bytes.reserveCapacity(parts.reduce(0) { $0 + $1.bytes.count })
        for part in parts {
            for place in part.places {
                places.append(Place(type: place.type, offset: bytes.count + place.offset, length: place.length))
            }
            bytes += part.bytes
        }
    }

    var repeated: Statement {
        var statement = self
        statement.isRepeated = true
        return statement
    }

    /// Where the value of a parameter lies among the bytes.
    private struct Place {
        let type: UInt32
        let offset: Int
        let length: Int32
    }

    var types: [UInt32] { places.map(\.type) }

    // nonisolated(unsafe): never written, nor read.
    private nonisolated(unsafe) static let nothing = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

    /// Lends its parameters as libpq takes them: how many, their values, their lengths, and that they are binary.
    func withParameters<Result>(
        _ body: (Int32, LibPQ.Names, UnsafePointer<Int32>, UnsafePointer<Int32>) -> Result
    ) -> Result {
        let count = places.count
        return bytes.withUnsafeBufferPointer { bytes in
            // An empty parameter is none where its address is.
            let start = UnsafeRawPointer(bytes.baseAddress ?? UnsafePointer(Self.nothing))
                .assumingMemoryBound(to: CChar.self)
            return withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { numbers in
                    for (number, place) in places.enumerated() {
                        values.initializeElement(at: number, to: start + place.offset)
                        numbers.initializeElement(at: number, to: place.length)
                        numbers.initializeElement(at: count + number, to: 1)
                    }
                    let lengths = UnsafePointer(numbers.baseAddress!)
                    return body(Int32(count), UnsafePointer(values.baseAddress!), lengths, lengths + count)
                }
            }
        }
    }

    /// Its text where so many parameters come before its own. It has a "$" nowhere else.
    fileprivate func sql(behind count: Int) -> String {
        if count == 0 { return sql }
        let pieces = sql.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
        return pieces.dropFirst().reduce(String(pieces[0])!) { text, piece in
            let digits = piece.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            return text + "$\(number + count)" + String(piece[digits.endIndex...])!
        }
    }

    enum Parameter {
        case integer(Int64)
        case bytes([UInt8])
        case text(String)
        case boolean(Bool)
        case integers([Int64])
        case byteArrays([[UInt8]])
        case texts([String])
        case booleans([Bool])
    }

    /// The numbers of PostgreSQL's types: `pg_type.dat`.
    private enum TypeNumber {
        static let boolean: UInt32 = 16
        static let bytes: UInt32 = 17
        static let integer: UInt32 = 20
        static let text: UInt32 = 25
        static let booleans: UInt32 = 1000
        static let byteArrays: UInt32 = 1001
        static let texts: UInt32 = 1009
        static let integers: UInt32 = 1016
    }

    private mutating func add(_ parameter: Parameter) {
        let start = bytes.count
        let type: UInt32
        switch parameter {
        case .integer(let value):
            type = TypeNumber.integer
            append(value)
        case .bytes(let value):
            type = TypeNumber.bytes
            bytes += value
        case .text(let value):
            type = TypeNumber.text
            bytes += Array(value.utf8)
        case .boolean(let value):
            type = TypeNumber.boolean
            bytes.append(value ? 1 : 0)
        case .integers(let values):
            type = TypeNumber.integers
            beginArray(of: TypeNumber.integer, values.count)
            for value in values {
                append(Int32(8))
                append(value)
            }
        case .byteArrays(let values):
            type = TypeNumber.byteArrays
            beginArray(of: TypeNumber.bytes, values.count)
            for value in values { append(element: value) }
        case .texts(let values):
            type = TypeNumber.texts
            beginArray(of: TypeNumber.text, values.count)
            for value in values { append(element: Array(value.utf8)) }
        case .booleans(let values):
            type = TypeNumber.booleans
            beginArray(of: TypeNumber.boolean, values.count)
            for value in values { append(element: [value ? 1 : 0]) }
        }
        places.append(Place(type: type, offset: start, length: Int32(clamping: bytes.count - start)))
    }

    private mutating func beginArray(of type: UInt32, _ count: Int) {
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(0))
        append(Int32(bitPattern: type))
        if count == 0 { return }
        append(Int32(clamping: count))
        append(Int32(1))
    }

    private mutating func append(element: [UInt8]) {
        append(Int32(clamping: element.count))
        bytes += element
    }

    private mutating func append<Integer: FixedWidthInteger>(_ value: Integer) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}

/// A text to be found again. There are few, and to hash all of a long one takes longer than to send what it is given.
struct StatementText: Hashable {
    let sql: String

    func hash(into hasher: inout Hasher) { hasher.combine(sql.utf8.count) }
}

/// The texts of statements that were put together from others. There are few, and to put one together takes as long as the server
/// takes to run it.
final class CombinedTexts: Sendable {
    private let known = Lock<[[StatementText]: String]>([:])

    fileprivate func text(of parts: [Statement]) -> String {
        known.withLock { known in
            let texts = parts.map { StatementText(sql: $0.sql) }
            if let text = known[texts] { return text }
            let text = Self.combined(parts)
            known[texts] = text
            return text
        }
    }

    private static func combined(_ parts: [Statement]) -> String {
        var count = 0
        var pieces: [String] = []
        for part in parts {
            pieces.append(part.sql(behind: count))
            count += part.types.count
        }
        let last = pieces.removeLast()
        let named = pieces.enumerated().map { "\($0.offset == 0 ? "moved" : "part\($0.offset)") AS (\($0.element))" }
        return "WITH \(named.joined(separator: ", ")) \(last)"
    }
}

/// What a statement answered.
final class Rows {
    private let library: LibPQ
    private let result: LibPQ.Result
    let count: Int

    /// Takes over the result.
    init(_ result: LibPQ.Result, _ library: LibPQ) {
        self.result = result
        self.library = library
        count = Int(library.rowCount(result))
    }

    deinit { library.clear(result) }

    func isNull(_ row: Int, _ column: Int) -> Bool { library.isNull(result, Int32(row), Int32(column)) != 0 }

    /// Valid while these rows are. Of NULL: none.
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        let length = Int(library.length(result, Int32(row), Int32(column)))
        return UnsafeRawBufferPointer(start: library.value(result, Int32(row), Int32(column)), count: length)
    }

    func text(_ row: Int, _ column: Int) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

    /// A whole number of any width, as its bits.
    func integer(_ row: Int, _ column: Int) -> Int64 {
        let bytes = bytes(row, column)
        guard let first = bytes.first else { return 0 }
        return bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
    }

    func boolean(_ row: Int, _ column: Int) -> Bool { integer(row, column) != 0 }

    /// "COMMIT", "UPDATE 1".
    var command: String { library.commandStatus(result).map { String(cString: $0) } ?? "" }

    var affected: Int { library.affectedRows(result).flatMap { Int(String(cString: $0)) } ?? 0 }
}
