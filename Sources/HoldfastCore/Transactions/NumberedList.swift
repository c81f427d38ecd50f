internal import HoldfastEnvironment

/// Elements in the order of their numbers, each of which is greater than those before it: found by its number, and removed
/// wherever it stands, without a look at the others.
struct NumberedList<Element> {
    /// What was removed keeps its place until most are such; the last is none.
    private var places: [(number: UInt64, element: Element?)] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var lastNumber: UInt64? { places.last?.number }

    mutating func append(_ number: UInt64, _ element: Element) {
        places.append((number, element))
        count += 1
    }

    /// Puts it where its number belongs, instead of what had that number. Behind those that are there, and where one was
    /// removed, no other is moved.
    mutating func insert(_ number: UInt64, _ element: Element) {
        let index = index(behind: number)
        if index > 0, places[index - 1].number == number {
            if places[index - 1].element == nil { count += 1 }
            places[index - 1].element = element
        } else {
            places.insert((number, element), at: index)
            count += 1
        }
    }

    subscript(number: UInt64) -> Element? {
        let index = index(behind: number) - 1
        return index >= 0 && places[index].number == number ? places[index].element : nil
    }

    var all: some Sequence<(number: UInt64, element: Element)> {
        places.lazy.compactMap { place in place.element.map { (place.number, $0) } }
    }

    /// Changes those whose number is greater, in their order.
    mutating func updateEach(after number: UInt64 = 0, _ body: (inout Element) -> Void) {
        for index in index(behind: number)..<places.count where places[index].element != nil {
            body(&places[index].element!)
        }
    }

    @discardableResult
    mutating func remove(_ number: UInt64) -> Element? {
        guard let element = self[number] else { return nil }
        places[index(behind: number) - 1].element = nil
        noteRemoved(1)
        return element
    }

    /// Removes those whose number is greater.
    mutating func removeAll(after number: UInt64, where isMeant: (Element) -> Bool = { _ in true }) {
        var removed = 0
        for index in index(behind: number)..<places.count {
            guard let element = places[index].element, isMeant(element) else { continue }
            places[index].element = nil
            removed += 1
        }
        noteRemoved(removed)
    }

    private mutating func noteRemoved(_ removed: Int) {
        count -= removed
        while let last = places.last, last.element == nil { places.removeLast() }
        guard places.count > 2 * count + Limits.inForce.passedPlaces else { return }
        places.removeAll { $0.element == nil }
    }

    private func index(behind number: UInt64) -> Int { places.partitioningIndex { $0.number > number } }
}
