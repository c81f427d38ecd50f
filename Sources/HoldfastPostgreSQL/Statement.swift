internal import HoldfastEnvironment

/// One statement and its parameters, in the binary form of PostgreSQL's protocol.
struct Statement {
    private(set) var sql: String
    private(set) var types: [UInt32] = []
    private(set) var lengths: [Int32] = []
    /// Where each parameter begins among the bytes.
    private(set) var offsets: [Int] = []
    private(set) var bytes: [UInt8] = []
    /// Whether it is worth preparing: its text is one of a few, which are run again and again.
    private(set) var isRepeated = false

    init(_ sql: String, _ parameters: Parameter...) { self.init(sql, parameters) }

    init(_ sql: String, _ parameters: [Parameter]) {
        self.sql = sql
        for parameter in parameters { add(parameter) }
    }

    /// One statement that runs each of these as a common table expression of this name, before the last, which stands by itself.
    init(with parts: [(name: String, statement: Statement)], _ last: String) {
        sql = ""
        var texts: [String] = []
        for (name, part) in parts {
            texts.append("\(name) AS (\(part.sql(behind: types.count)))")
            types += part.types
            lengths += part.lengths
            offsets += part.offsets.map { $0 + bytes.count }
            bytes += part.bytes
        }
        sql = "WITH \(texts.joined(separator: ", ")) \(last)"
    }

    var repeated: Statement {
        var statement = self
        statement.isRepeated = true
        return statement
    }

    /// Its text where so many parameters come before its own. It has a "$" nowhere else.
    private func sql(behind count: Int) -> String {
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
        offsets.append(start)
        switch parameter {
        case .integer(let value):
            types.append(TypeNumber.integer)
            append(value)
        case .bytes(let value):
            types.append(TypeNumber.bytes)
            bytes += value
        case .text(let value):
            types.append(TypeNumber.text)
            bytes += Array(value.utf8)
        case .boolean(let value):
            types.append(TypeNumber.boolean)
            bytes.append(value ? 1 : 0)
        case .integers(let values):
            types.append(TypeNumber.integers)
            beginArray(of: TypeNumber.integer, values.count)
            for value in values {
                append(Int32(8))
                append(value)
            }
        case .byteArrays(let values):
            types.append(TypeNumber.byteArrays)
            beginArray(of: TypeNumber.bytes, values.count)
            for value in values { append(element: value) }
        case .texts(let values):
            types.append(TypeNumber.texts)
            beginArray(of: TypeNumber.text, values.count)
            for value in values { append(element: Array(value.utf8)) }
        case .booleans(let values):
            types.append(TypeNumber.booleans)
            beginArray(of: TypeNumber.boolean, values.count)
            for value in values { append(element: [value ? 1 : 0]) }
        }
        lengths.append(Int32(clamping: bytes.count - start))
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
