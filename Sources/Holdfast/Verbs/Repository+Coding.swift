internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// From entities to the core's writes, and back from what it answers.
extension Repository {
    /// What each of several entities comes to. Of more than one, an error tells which one it is about.
    func eachNamed<Element, Value>(_ elements: [Element], _ body: (Element) throws -> Value) throws -> [Value] {
        try elements.enumerated().map { index, element in
            do {
                return try body(element)
            } catch var error as HoldfastError where elements.count > 1 {
                error.message = "element \(index), counted from 0: \(error.message)"
                throw error
            }
        }
    }

    /// Of the whole entity, and the entity with the id that it was assigned, if it was.
    func write(
        _ verb: Verb, _ entity: Entity, _ expectedVersion: UInt64?, _ core: HoldfastCore.Repository
    ) throws -> (write: Write, stored: Entity) {
        let json = try coding.encode(entity, what: "entity", status: .invalidEntity)
        var write = try translatingErrors { () throws(CoreError) in
            try json.withBytes { bytes throws(CoreError) in
                try WriteCall(verb, nil, bytes, expectedVersion: expectedVersion ?? 0).write(to: core)
            }
        }
        if write.bodyBeforeAssignment != nil {
            // Written as the id's own type writes it, so that the id which is read back finds the entity.
            guard let id = Entity.ID(identifierText: write.key.id.text), let text = id.identifierText else {
                throw HoldfastError(
                    .invalidEntity,
                    "the entity has no id, and \(Entity.ID.self) cannot hold a UUID, which it would be assigned: give it one"
                )
            }
            if text != write.key.id.text {
                let assigned = EntityID(unchecked: Array(text.utf8))
                let whole = try translatingErrors { () throws(CoreError) in
                    try json.withBytes { bytes throws(CoreError) in
                        try AssignedID.insert(assigned, named: key, into: bytes)
                    }
                }
                write.key = core.key(assigned)
                write.action = .put(whole)
            }
        }
        if let id = entity.id.identifierText, !write.key.id.bytes.elementsEqual(id.utf8) {
            throw HoldfastError(
                .invalidEntity,
                "the entity's id is \"\(id)\" and its member \"\(key)\" is \"\(write.key.id.text)\": they must be one")
        }
        guard write.bodyBeforeAssignment != nil, case .put(let text) = write.action else { return (write, entity) }
        return (write, try decode(text, id: write.key.id))
    }

    func write(
        patching id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], _ expectedVersion: UInt64?,
        _ core: HoldfastCore.Repository
    ) throws -> Write {
        let id = try text(of: id)
        let json = try coding.encode(changes.mapValues { AnyValue(value: $0) }, what: "patch", status: .invalidEntity)
        return try translatingErrors { () throws(CoreError) in
            try json.withBytes { bytes throws(CoreError) in
                try WriteCall(.patch, id, bytes, expectedVersion: expectedVersion ?? 0).write(to: core)
            }
        }
    }

    func write(
        modifying id: Entity.ID, _ update: Update<Entity>, initial: Entity?, _ expectedVersion: UInt64?,
        _ core: HoldfastCore.Repository
    ) throws -> Write {
        let id = try text(of: id)
        let json = try update.json(coding)
        let first = try initial.map { try coding.encode($0, what: "initial entity", status: .invalidEntity) }
        return try translatingErrors { () throws(CoreError) in
            try json.withBytes { json throws(CoreError) in
                guard let first else {
                    return try WriteCall(.modify, id, json, expectedVersion: expectedVersion ?? 0).write(to: core)
                }
                return try first.withBytes { first throws(CoreError) in
                    try WriteCall(.modify, id, json, initial: first, expectedVersion: expectedVersion ?? 0)
                        .write(to: core)
                }
            }
        }
    }

    func write(
        deleting id: Entity.ID, _ expectedVersion: UInt64?, _ core: HoldfastCore.Repository
    ) throws -> Write {
        let id = try text(of: id)
        return try translatingErrors { () throws(CoreError) in
            try WriteCall(.delete, id, expectedVersion: expectedVersion ?? 0).write(to: core)
        }
    }

    // MARK: Back

    func decode<Answer: Decodable>(_ list: EntityList, as type: Answer.Type) throws -> [Answer] {
        try list.items.map { item in
            let text = try translatingErrors { () throws(CoreError) in try list.body(of: item) }
            return try coding.decode(
                type, from: text, id: String(decoding: list.ids[item.id], as: UTF8.self), repository: name)
        }
    }

    func decode<Value: Decodable>(values: [UInt8], as type: Value.Type) throws -> [Value] {
        do { return try coding.decoder.decode([Value].self, from: Data(values)) } catch {
            throw HoldfastError(
                .corrupt, "a value in \"\(name)\" is no \(type): \(EntityCoding.reason(error))", cause: error)
        }
    }
}
