internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// Finds the path, in the JSON of an entity, of what a key path reads.
///
/// Swift tells no coding keys of a key path. So they are observed: a few instances are decoded from made-up values
/// (`Probe`), in which no two members are always equal, and encoded by the repository's own encoder. The path that is
/// meant is the one at which, in each of them, stands what the key path's value is encoded as. Where that is not exactly
/// one path, the key path is refused. So is a computed property, which may do as a member does in all that was tried and
/// differ elsewhere; except for the id, which every write holds against the repository's key.
final class PathFinder: Sendable {
    private let encoder: JSONEncoder
    private let key: String
    private let found = Lock<[AnyKeyPath: String]>([:])

    init(encoder: JSONEncoder, key: String) {
        self.encoder = encoder
        self.key = key
    }

    /// The path from `Root` on.
    func path<Root: Codable>(of keyPath: PartialKeyPath<Root>) throws -> String {
        if let path = found.withLock({ $0[keyPath] }) { return path }
        let path = try declared(keyPath) ?? observed(keyPath)
        found.withLock { $0[keyPath] = path }
        return path
    }

    private func declared<Root>(_ keyPath: PartialKeyPath<Root>) -> String? {
        func path<Declaring: Queryable>(in type: Declaring.Type) -> String? {
            type.paths.first { $0.key as AnyKeyPath == keyPath }?.value
        }
        guard let type = Root.self as? any Queryable.Type else { return nil }
        return path(in: type)
    }

    private func observed<Root: Codable>(_ keyPath: PartialKeyPath<Root>) throws -> String {
        let observations = try observations(of: keyPath)
        let paths = Set(observations.flatMap { $0.members.keys }).filter { path in
            // What is not encoded at all is nil.
            observations.allSatisfy { ($0.members[path] ?? .null) == $0.value }
                && observations.contains { $0.value != .null }
        }
        guard let path = paths.first else {
            throw refusal(keyPath, "no member of the JSON holds what it reads")
        }
        guard paths.count == 1 else {
            throw refusal(keyPath, "\(paths.map(\.text).sorted().joined(separator: " and ")) are always equal")
        }
        guard path.names.allSatisfy({ !$0.isEmpty && !$0.contains(UInt8(ascii: ".")) }) else {
            throw Self.refusal(
                keyPath, "no path can name the member \(path.text), because of the dot: give it another coding key")
        }
        // How a key path describes itself is made for people; were it to change, what is observed would still be held
        // against every probe.
        if String(describing: keyPath).contains("<computed"), path.text != key {
            throw refusal(keyPath, "it is computed, or has an observer or a wrapper")
        }
        return path.text
    }

    /// What one probe is encoded as: all its members by their paths, and what the key path reads.
    private struct Observation {
        var members: [MemberPath: JSONValue]
        var value: JSONValue
    }

    private func observations<Root: Codable>(of keyPath: PartialKeyPath<Root>) throws -> [Observation] {
        do {
            return try Probe.instances(of: Root.self).map { instance in
                guard let value = instance[keyPath: keyPath] as? any Encodable else {
                    throw refusal(keyPath, "what it reads cannot be encoded")
                }
                var members: [MemberPath: JSONValue] = [:]
                try json(instance).collectMembers(under: MemberPath(), &members)
                return Observation(members: members, value: try json(value))
            }
        } catch let failure as Probe.Failure {
            let (type, reason) = (failure.type, EntityCoding.reason(failure.error))
            throw Self.refusal(
                keyPath,
                "\(type) cannot be decoded from made-up values (\(reason)): give two of its values, which are encoded "
                    + "differently, by extension \(type): Queryable { static var samples: [\(type)] { [first, second] } }; "
                    + "or give the path as text", failure.error)
        } catch let error as HoldfastError {
            throw error
        } catch {
            throw refusal(keyPath, "\(Root.self) cannot be encoded (\(EntityCoding.reason(error)))", error)
        }
    }

    private func json(_ value: any Encodable) throws -> JSONValue {
        let text = Array(try encoder.encode(AnyValue(value: value)))
        return try translatingErrors { () throws(CoreError) in
            try text.withBytes { bytes throws(CoreError) in try JSONValue.parse(bytes, what: "probe") }
        }.sorted
    }

    /// Of what the type could tell.
    private func refusal<Root>(
        _ keyPath: PartialKeyPath<Root>, _ reason: String, _ cause: (any Error)? = nil
    ) -> HoldfastError {
        Self.refusal(
            keyPath,
            "\(reason): tell the path by extension \(Root.self): Queryable { static var paths: "
                + "[PartialKeyPath<\(Root.self)>: String] { [\\.property: \"path\"] } }; or give it as text", cause)
    }

    private static func refusal(
        _ keyPath: AnyKeyPath, _ reason: String, _ cause: (any Error)? = nil
    ) -> HoldfastError {
        HoldfastError(.invalidQuery, "it cannot be seen which path \(keyPath) means: \(reason)", cause: cause)
    }
}

/// The names of members, from the outermost on.
private struct MemberPath: Hashable {
    var names: [[UInt8]] = []

    var text: String { names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".") }
}

extension JSONValue {
    /// Every member of the object and of the objects in it.
    fileprivate func collectMembers(under path: MemberPath, _ members: inout [MemberPath: JSONValue]) {
        guard case .object(let own) = self else { return }
        for member in own {
            let path = MemberPath(names: path.names + [member.name])
            members[path] = member.value
            member.value.collectMembers(under: path, &members)
        }
    }

    /// With the members of objects in one order, whatever the encoder's.
    fileprivate var sorted: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let members):
            .object(
                members.map { Member(name: $0.name, value: $0.value.sorted) }
                    .sorted { $0.name.lexicographicallyPrecedes($1.name) })
        default: self
        }
    }
}
