internal import HoldfastCore
internal import HoldfastEnvironment

/// Cuts what a host hands over in pieces into lines.
struct LineReader {
    private let read: (UnsafeMutableRawBufferPointer) throws(HoldfastError) -> Int
    private let maxLineBytes: Int
    private var buffer: [UInt8] = []
    private var piece: [UInt8]
    /// Where the next line begins, and how far its end was looked for.
    private var start = 0
    private var sought = 0
    private var isAtEnd = false
    /// Of the line handed out last, from 1.
    private(set) var number: UInt64 = 0

    /// `read` fills a part of the buffer and answers how much; 0 at the end.
    init(
        maxLineBytes: Int, pieceBytes: Int,
        _ read: @escaping (UnsafeMutableRawBufferPointer) throws(HoldfastError) -> Int
    ) throws(HoldfastError) {
        try Memory.ask(for: pieceBytes)
        piece = [UInt8](repeating: 0, count: pieceBytes)
        self.read = read
        self.maxLineBytes = maxLineBytes
    }

    /// The next line that is not blank, without its end; nil behind the last.
    mutating func next() throws(HoldfastError) -> [UInt8]? {
        while true {
            if let end = buffer[sought...].firstIndex(of: UInt8(ascii: "\n")) {
                try Memory.ask(for: end - start)
                let line = Array(buffer[start..<end])
                (start, sought) = (end + 1, end + 1)
                number += 1
                if !Self.isBlank(line[...]) { return line }
                continue
            }
            sought = buffer.count
            if isAtEnd {
                defer { start = sought }
                number += 1
                return Self.isBlank(buffer[start...]) ? nil : Array(buffer[start...])
            }
            guard buffer.count - start <= maxLineBytes else {
                throw HoldfastError(
                    .invalidJSON, "line \(number + 1) has more than \(maxLineBytes) bytes: raise max_entity_bytes",
                    detail: [("line", .number(number + 1))])
            }
            try fill()
        }
    }

    /// Whether there is nothing but JSON's white space. Other bytes that nobody sees are no blank line.
    private static func isBlank(_ line: ArraySlice<UInt8>) -> Bool {
        line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
    }

    private mutating func fill() throws(HoldfastError) {
        buffer.removeFirst(start)
        (start, sought) = (0, buffer.count)
        let read = read
        let result = piece.withUnsafeMutableBytes { bytes -> Result<Int, HoldfastError> in
            Result { () throws(HoldfastError) in try read(bytes) }
        }
        let count = try result.get()
        isAtEnd = count == 0
        try buffer.askToGrow(by: count)
        buffer.append(contentsOf: piece.prefix(count))
    }
}
