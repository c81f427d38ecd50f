/// Rewrites the items of one object or array: members or elements. Those that are kept keep every byte, with the comma
/// and the white space before them; one that is removed takes its comma along; new ones come without white space.
///
/// The caller goes through the items in their order and tells of each what becomes of it; `output` is the same at every
/// call.
struct ContainerRewriter {
    private let walker: JSONWalker
    /// Where the last item ended that was told of, or the bracket.
    private var position: Int
    /// What is kept is copied from here, as late as possible, so that items that stay are copied together.
    private var uncopied: Int
    /// The white space before the first item of the text, once that was met.
    private var openingGap: Range<Int>?
    /// Whether nothing stands in the result so far.
    private var isEmpty = true

    /// `opening` is the position of the opening bracket.
    init(_ walker: JSONWalker, opening: Int) {
        self.walker = walker
        position = opening + 1
        uncopied = opening
    }

    /// The next item stays.
    mutating func keep(from start: Int, to end: Int, _ output: inout [UInt8]) {
        // Before the first item: white space. Before a later one: the comma, and white space.
        let gap = position..<start
        position = end
        if let openingGap {
            if isEmpty {
                // All before it are removed, and its comma with them.
                output.append(contentsOf: walker.bytes(openingGap.lowerBound, openingGap.upperBound))
                uncopied = start
            }
        } else {
            openingGap = gap
            if !isEmpty { output.append(UInt8(ascii: ",")) }  // there are new ones before it
        }
        isEmpty = false
    }

    /// The next item stays, but its value, which begins at `value`, is replaced by what the caller appends now.
    mutating func keep(from start: Int, replacing value: Int, to end: Int, _ output: inout [UInt8]) {
        keep(from: start, to: end, &output)
        output.append(contentsOf: walker.bytes(uncopied, value))
        uncopied = end
    }

    /// The next item goes.
    mutating func remove(from start: Int, to end: Int, _ output: inout [UInt8]) {
        let gap = position..<start
        if openingGap == nil { openingGap = gap }
        output.append(contentsOf: walker.bytes(uncopied, gap.lowerBound))
        position = end
        uncopied = end
    }

    /// Here comes a new item, which the caller appends now.
    mutating func add(_ output: inout [UInt8]) {
        output.append(contentsOf: walker.bytes(uncopied, position))
        uncopied = position
        if !isEmpty { output.append(UInt8(ascii: ",")) }
        isEmpty = false
    }

    /// There are no more items; `end` is behind the closing bracket.
    func finish(at end: Int, _ output: inout [UInt8]) {
        output.append(contentsOf: walker.bytes(uncopied, end))
    }
}
