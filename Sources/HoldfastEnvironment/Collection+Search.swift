extension RandomAccessCollection where Index == Int {
    /// Looks for something in an array, or a part of one, that is ordered. `order` tells whether it comes before an element (a negative number),
    /// is that element (0), or comes behind it. Answers where it stands; or where it would stand.
    @inlinable @inline(__always)
    public func search<Failure: Error>(
        _ order: (Element) throws(Failure) -> Int
    ) throws(Failure) -> (index: Int, isFound: Bool) {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            let order = try order(self[middle])
            if order == 0 { return (middle, true) }
            if order < 0 { high = middle } else { low = middle + 1 }
        }
        return (low, false)
    }

    /// Where the elements begin for which this holds, in an array that ends with all of them.
    @inlinable @inline(__always)
    public func partitioningIndex(where isBehind: (Element) -> Bool) -> Int { search { isBehind($0) ? -1 : 1 }.index }
}
