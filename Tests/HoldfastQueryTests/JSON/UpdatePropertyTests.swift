import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
import Testing

@Suite("Random updates of random entities")
struct UpdatePropertyTests {
    @Test("Updating text equals updating trees, and what the one refuses the other refuses", arguments: Seeds.of(2000))
    func agreesWithTrees(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let target = samples.object(depth: 4)
        let (update, paths) = samples.update()
        let text = samples.text(of: target)
        let updateText = samples.text(of: update)
        let isConflict = paths.indices.contains { first in
            paths.indices.contains { $0 != first && paths[$0].starts(with: paths[first]) }
        }
        let result = Result { try UpdateTests.updated(text, updateText) }
        if isConflict {
            #expect { try result.get() } throws: { ($0 as? HoldfastError)?.status == .invalidQuery }
        } else if let expected = try? TreeUpdate.apply(update, to: target) {
            #expect(try result.get().parsed().sorted == expected.sorted, "\(text) updated by \(updateText)")
        } else {
            #expect("\(text) updated by \(updateText)") { try result.get() } throws: {
                ($0 as? HoldfastError)?.status == .invalidEntity
            }
        }
    }

    @Test("Members at the top that no path begins with keep their bytes, and their order", arguments: Seeds.of(500))
    func untouchedBytes(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let target = samples.object(depth: 4)
        let (update, paths) = samples.update()
        let text = samples.text(of: target)
        guard let result = try? UpdateTests.updated(text, samples.text(of: update)) else { return }
        let touched = Set(paths.map { $0[0] })
        let before = try members(of: text).filter { !touched.contains($0.name) }
        let after = try members(of: result).filter { !touched.contains($0.name) }
        #expect(before.map(\.text) == after.map(\.text), "\(text) updated by \(update.text)")
    }

    /// From each name's quote to the end of its value.
    private func members(of text: String) throws -> [(name: [UInt8], text: [UInt8])] {
        try text.withBytes { bytes in
            let walker = JSONWalker(bytes)
            var members = try walker.members(of: walker.skipWhiteSpace(0))
            var result: [(name: [UInt8], text: [UInt8])] = []
            while let member = try members.next() {
                let range = member.name.start - 1..<(try walker.endOfValue(at: member.value))
                result.append((try walker.decode(member.name), Array(bytes[range])))
            }
            return result
        }
    }
}

extension JSONSamples {
    /// An update that is well formed, though its paths may meet, and all of its paths.
    mutating func update() -> (JSONValue, paths: [[[UInt8]]]) {
        var operations: [(name: String, fields: [JSONValue.Member])] = []
        var paths: [[[UInt8]]] = []
        for _ in 0...below(3) {
            let name = pick([
                "$set", "$unset", "$inc", "$mul", "$min", "$max", "$push", "$pull", "$addToSet", "$rename",
            ])
            let path = path()
            paths.append(path)
            let operand: JSONValue
            if name == "$rename" {
                paths.append(self.path())
                operand = .string(Array(paths.last!.joined(separator: [UInt8(ascii: ".")])))
            } else {
                operand = self.operand(of: name)
            }
            let field = JSONValue.Member(name: Array(path.joined(separator: [UInt8(ascii: ".")])), value: operand)
            if let index = operations.firstIndex(where: { $0.name == name }) {
                if operations[index].fields.contains(where: { $0.name == field.name }) {
                    paths.removeLast(name == "$rename" ? 2 : 1)
                } else {
                    operations[index].fields.append(field)
                }
            } else {
                operations.append((name, [field]))
            }
        }
        let members = operations.map { JSONValue.Member(name: Array($0.name.utf8), value: .object($0.fields)) }
        return (.object(members), paths)
    }

    private mutating func path() -> [[UInt8]] {
        (0...below(3)).map { _ in Array(pick(["a", "b", "c", "0", "1", "3", "01", "ä\"\n"]).utf8) }
    }

    private mutating func operand(of name: String) -> JSONValue {
        switch name {
        case "$inc", "$mul":
            return pick([.integer(0), .integer(1), .integer(-3), .integer(.max), .real(0.5), .real(1e300), .real(-0.0)])
        case "$push":
            if below(2) == 0 { return value(depth: 2) }
            var members = [
                JSONValue.Member(name: Array("$each".utf8), value: .array((0..<below(4)).map { _ in value(depth: 1) }))
            ]
            if below(2) == 0 {
                members.append(.init(name: Array("$position".utf8), value: .integer(Int64(below(7)) - 3)))
            }
            if below(2) == 0 { members.append(.init(name: Array("$slice".utf8), value: .integer(Int64(below(7)) - 3))) }
            return .object(members)
        case "$addToSet":
            if below(2) == 0 { return value(depth: 2) }
            return .object([
                .init(name: Array("$each".utf8), value: .array((0..<below(4)).map { _ in value(depth: 1) }))
            ])
        case "$pull":
            if below(2) == 0 { return scalar() }
            let operation = pick(["$eq", "$gte", "$lt", "$ne"])
            return switch below(3) {
            case 0: .object([])
            case 1: .object([.init(name: Array("a".utf8), value: scalar())])
            default: .object([.init(name: Array(operation.utf8), value: scalar())])
            }
        default: return value(depth: 2)
        }
    }
}
