import HoldfastQuery

/// Updates carried out on trees, one operator and path after the other. Written without regard to the library's way,
/// which is one walk through the text, so that the two can be held against each other.
enum TreeUpdate {
    struct Refused: Error {}

    /// In the order of the paths: an element that is set behind an array's end must not have filled the places before it
    /// when another operator comes to one of them.
    static func apply(_ update: JSONValue, to target: JSONValue) throws -> JSONValue {
        var steps: [(name: String, path: [[UInt8]], operand: JSONValue)] = []
        for operation in update.members {
            for field in operation.value.members {
                let path = field.name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(
                    Array.init)
                steps.append((String(decoding: operation.name, as: UTF8.self), path, field.value))
            }
        }
        steps.sort { left, right in
            left.path.lexicographicallyPrecedes(right.path) {
                $0.count == $1.count ? $0.lexicographicallyPrecedes($1) : $0.count < $1.count
            }
        }
        var result = target
        for step in steps { try apply(step.name, step.path[...], step.operand, &result) }
        return result
    }

    private static func apply(
        _ name: String, _ path: ArraySlice<[UInt8]>, _ operand: JSONValue, _ tree: inout JSONValue
    ) throws {
        if name == "$rename" {
            guard case .string(let text) = operand else { throw Refused() }
            let destination = text.split(separator: UInt8(ascii: ".")).map(Array.init)
            guard let value = try member(path, of: tree) else { return }
            try descend("$unset", path, .null, &tree)
            try descend("$set", destination[...], value, &tree, isRename: true)
        } else {
            try descend(name, path, operand, &tree)
        }
    }

    private static func member(_ path: ArraySlice<[UInt8]>, of tree: JSONValue) throws -> JSONValue? {
        guard let name = path.first else { return tree }
        if case .array = tree { throw Refused() }
        guard let found = tree.members.first(where: { $0.name == name }) else { return nil }
        return try member(path.dropFirst(), of: found.value)
    }

    private static func descend(
        _ name: String, _ path: ArraySlice<[UInt8]>, _ operand: JSONValue, _ tree: inout JSONValue,
        isRename: Bool = false
    ) throws {
        let part = path.first!
        let rest = path.dropFirst()
        let creates = name != "$unset" && name != "$pull"
        switch tree {
        case .object(var members):
            let index = members.firstIndex { $0.name == part }
            if rest.isEmpty {
                let value = try result(name, index.map { members[$0].value }, operand)
                if let index { members.remove(at: index) }
                if let value { members.insert(.init(name: part, value: value), at: index ?? members.count) }
            } else {
                guard index != nil || creates else { return }
                var value = index.map { members[$0].value } ?? .object([])
                try descend(name, rest, operand, &value, isRename: isRename)
                if let index { members.remove(at: index) }
                members.insert(.init(name: part, value: value), at: index ?? members.count)
            }
            tree = .object(members)
        case .array(var elements):
            guard let index = Int(String(decoding: part, as: UTF8.self)), "\(index)".utf8.elementsEqual(part) else {
                if creates { throw Refused() }
                return
            }
            guard !isRename else { throw Refused() }
            guard index < elements.count || creates else { return }
            let isMissing = index >= elements.count
            while elements.count <= index { elements.append(.null) }
            if rest.isEmpty {
                elements[index] = try result(name, isMissing ? nil : elements[index], operand) ?? .null
            } else {
                var value = isMissing ? .object([]) : elements[index]
                try descend(name, rest, operand, &value, isRename: isRename)
                elements[index] = value
            }
            tree = .array(elements)
        default: if creates { throw Refused() }
        }
    }

    /// What becomes of a value; nil for none.
    private static func result(_ name: String, _ old: JSONValue?, _ operand: JSONValue) throws -> JSONValue? {
        switch name {
        case "$set": return operand
        case "$unset": return nil
        case "$inc": return try old.map { try number($0, operand, { $0.addingReportingOverflow($1) }, +) } ?? operand
        case "$mul":
            let zero: JSONValue = if case .real = operand { .real(0) } else { .integer(0) }
            return try number(old ?? zero, operand, { $0.multipliedReportingOverflow(by: $1) }, *)
        case "$min": return old.map { compare(operand, $0) < 0 ? operand : $0 } ?? operand
        case "$max": return old.map { compare(operand, $0) > 0 ? operand : $0 } ?? operand
        case "$push":
            var elements = try array(old)
            let new = each(operand)
            var place = elements.count
            if case .integer(let position) = operand.member("$position") {
                place = Int(position < 0 ? max(0, Int64(place) + position) : min(Int64(place), position))
            }
            elements.insert(contentsOf: new, at: place)
            if case .integer(let slice) = operand.member("$slice") {
                elements = Array(slice < 0 ? elements.suffix(Int(-slice)) : elements.prefix(Int(slice)))
            }
            return .array(elements)
        case "$addToSet":
            var elements = try array(old)
            for value in each(operand) where !elements.contains(where: { compare($0, value) == 0 }) {
                elements.append(value)
            }
            return .array(elements)
        case "$pull":
            guard let old else { return nil }
            return .array(
                try array(old).filter { element in
                    guard case .object(let conditions) = operand else { return compare(element, operand) != 0 }
                    if conditions.first?.name.first == UInt8(ascii: "$") {
                        let name = Array("v".utf8)
                        return !TreeEvaluation.matches(
                            .object([.init(name: name, value: element)]), .object([.init(name: name, value: operand)]))
                    }
                    guard case .object = element else { return true }
                    return !TreeEvaluation.matches(element, operand)
                })
        default: throw Refused()
        }
    }

    private static func array(_ value: JSONValue?) throws -> [JSONValue] {
        guard let value else { return [] }
        guard case .array(let elements) = value else { throw Refused() }
        return elements
    }

    private static func each(_ operand: JSONValue) -> [JSONValue] {
        if case .array(let values) = operand.member("$each") { values } else { [operand] }
    }

    private static func number(
        _ old: JSONValue, _ operand: JSONValue, _ exact: (Int64, Int64) -> (Int64, Bool),
        _ rounded: (Double, Double) -> Double
    ) throws -> JSONValue {
        if case .integer(let a) = old, case .integer(let b) = operand {
            let (result, overflows) = exact(a, b)
            if overflows { throw Refused() }
            return .integer(result)
        }
        guard let a = old.double, let b = operand.double, rounded(a, b).isFinite else { throw Refused() }
        return .real(rounded(a, b))
    }

    // MARK: MongoDB's order

    private static func compare(_ left: JSONValue, _ right: JSONValue) -> Int {
        if left.rank != right.rank { return left.rank < right.rank ? -1 : 1 }
        switch (left, right) {
        case (.bool(let a), .bool(let b)): return (a ? 1 : 0) - (b ? 1 : 0)
        case (.integer(let a), .integer(let b)): return a < b ? -1 : a > b ? 1 : 0
        case (.integer(let a), .real(let b)): return compare(a, b)
        case (.real(let a), .integer(let b)): return -compare(b, a)
        case (.real(let a), .real(let b)): return a < b ? -1 : a > b ? 1 : 0
        case (.string(let a), .string(let b)): return compare(a, b)
        case (.array(let a), .array(let b)):
            for (a, b) in zip(a, b) where compare(a, b) != 0 { return compare(a, b) }
            return a.count - b.count
        case (.object(let a), .object(let b)):
            for (a, b) in zip(a, b) {
                if a.value.rank != b.value.rank { return a.value.rank - b.value.rank }
                if a.name != b.name { return compare(a.name, b.name) }
                if compare(a.value, b.value) != 0 { return compare(a.value, b.value) }
            }
            return a.count - b.count
        default: return 0
        }
    }

    private static func compare(_ a: Int64, _ b: Double) -> Int {
        if b >= 0x1p63 { return -1 }
        let whole = b.rounded(.down)
        if a != Int64(whole) { return a < Int64(whole) ? -1 : 1 }
        return whole < b ? -1 : 0
    }

    private static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
    }
}

extension JSONValue {
    fileprivate var members: [Member] { if case .object(let members) = self { members } else { [] } }

    fileprivate func member(_ name: String) -> JSONValue? { members.first { $0.name == Array(name.utf8) }?.value }

    fileprivate var rank: Int { PlainOrder.rank(self) }

    fileprivate var double: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .real(let real): real
        default: nil
        }
    }

    /// With the members of all objects in the order of their names.
    var sorted: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let members):
            .object(
                members.map { .init(name: $0.name, value: $0.value.sorted) }
                    .sorted { $0.name.lexicographicallyPrecedes($1.name) })
        default: self
        }
    }
}
