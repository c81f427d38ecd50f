internal import HoldfastEnvironment

/// Code points of UTF-8, which are what positions in texts count.
extension [UInt8] {
    private static func begins(_ byte: UInt8) -> Bool { byte & 0xC0 != 0x80 }

    var codePointCount: Int { codePoints(in: 0..<count) }

    /// How many code points begin in a range of bytes.
    func codePoints(in range: Range<Int>) -> Int {
        var found = 0
        for index in range where Self.begins(self[index]) { found += 1 }
        return found
    }

    /// Where the code point that is so many behind the one at `start` begins; the end where there are not so many.
    func index(_ start: Int, offsetByCodePoints offset: Int) -> Int {
        var left = offset
        var index = start
        while index < count {
            if left == 0 { return index }
            left -= 1
            index = self.index(afterCodePointAt: index)
        }
        return count
    }

    func index(afterCodePointAt index: Int) -> Int {
        var next = index + 1
        while next < count, !Self.begins(self[next]) { next += 1 }
        return next
    }

    func index(ofCodePointBefore index: Int) -> Int {
        var before = index - 1
        while before > 0, !Self.begins(self[before]) { before -= 1 }
        return before
    }
}

/// Finds a text in others, in time that grows with the sum of their lengths (Knuth, Morris and Pratt).
struct TextSearch {
    private let wanted: [UInt8]
    /// For each beginning of the text, how long the longest shorter one is with which it ends.
    private let borders: [Int]

    /// The text must not be empty.
    init(_ wanted: [UInt8]) {
        var borders = [0]
        borders.reserveCapacity(wanted.count)
        var length = 0
        for index in wanted.indices.dropFirst() {
            while length > 0, wanted[index] != wanted[length] { length = borders[length - 1] }
            if wanted[index] == wanted[length] { length += 1 }
            borders.append(length)
        }
        self.wanted = wanted
        self.borders = borders
    }

    /// Where it begins for the first time within a range of bytes.
    func first(in text: [UInt8], _ range: Range<Int>) -> Int? {
        var length = 0
        for index in range {
            while length > 0, text[index] != wanted[length] { length = borders[length - 1] }
            if text[index] == wanted[length] { length += 1 }
            if length == wanted.count { return index + 1 - length }
        }
        return nil
    }
}
