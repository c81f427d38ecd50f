internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// What to change in entities, in MongoDB's update operators: by key paths, or by path, or as JSON.
///
///     try await songs.modify(id: "s1", [.increment(\.plays, by: 1), .push(\.album.tracks, "Gloria")])
///     try await songs.modify(id: "s1", ["$inc": ["plays": 1], "$push": ["album.tracks": "Gloria"]])
///     try await songs.modify(id: "s1", Update(json: #"{"$push": {"tags": {"$each": ["a"], "$slice": -9}}}"#))
///
/// Updates are put together in an array. The operators are `$set`, `$unset`, `$inc`, `$mul`, `$min`, `$max`, `$push` (with
/// `$each`, `$position`, `$slice`), `$pull` (with a value or a filter), `$addToSet` (with `$each`) and `$rename`. What no
/// path names stays as it is, and no path may be another one or the beginning of another one.
public struct Update<Entity: Codable & Sendable>: Sendable, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    private enum Form {
        case operators([String: [String: (any Encodable & Sendable)?]])
        case json(String)
        case change(Member<Entity>, Operator)
        case all([Update])
    }
    private let form: Form

    /// Operators with their paths and operands. The operands are encoded as the repository's entities are.
    public init(_ operators: [String: [String: (any Encodable & Sendable)?]]) { form = .operators(operators) }

    /// As a literal. Of an operator given twice the last one counts.
    public init(dictionaryLiteral elements: (String, [String: (any Encodable & Sendable)?])...) {
        form = .operators(Dictionary(elements) { _, last in last })
    }

    /// All of these, none of which is JSON text.
    public init(arrayLiteral updates: Update...) { form = .all(updates) }

    /// An update as JSON text. What is wrong with it is told by the call that uses it.
    public init(json: String) { form = .json(json) }

    init(_ name: String, _ member: any PartialKeyPath<Entity> & Sendable, _ operand: (any Encodable & Sendable)?) {
        self.init(member, Operator(name, operand))
    }

    init(_ member: any PartialKeyPath<Entity> & Sendable, _ operation: Operator) {
        form = .change(Member(member), operation)
    }

    // MARK: As JSON

    func json(_ coding: EntityCoding) throws -> [UInt8] {
        if case .json(let text) = form { return Array(text.utf8) }
        var operators: [(name: String, members: [String])] = []
        for (name, member) in try changes(coding) {
            if let index = operators.firstIndex(where: { $0.name == name }) {
                operators[index].members.append(member)
            } else {
                operators.append((name, [member]))
            }
        }
        let members = operators.map { "\($0.name):{\($0.members.joined(separator: ","))}" }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }

    /// Each operator's name with one of its members, as JSON.
    private func changes(_ coding: EntityCoding) throws -> [(name: String, member: String)] {
        switch form {
        case .operators(let operators):
            return try operators.flatMap { operatorName, operands in
                let name = try coding.text(operatorName, what: "update")
                return try operands.map { path, value -> (name: String, member: String) in
                    try Decimals.refuse(value, of: operatorName)
                    return (name, try "\(coding.text(path, what: "update")):\(coding.text(value, what: "update"))")
                }
            }
        case .change(let member, let operation):
            return [("\"\(operation.name)\"", try "\(member.name(coding)):\(operation.operand(coding))")]
        case .all(let updates): return try updates.flatMap { try $0.changes(coding) }
        case .json:
            throw HoldfastError(.invalidQuery, "an update that is JSON text is whole: it joins no other")
        }
    }
}
