/// Which members of each entity a query answers.
public struct Fields<Entity: Codable & Sendable>: Sendable {
    private let members: [Member<Entity>]
    private let isChosen: Bool

    private init(_ members: [Member<Entity>], isChosen: Bool) {
        self.members = members
        self.isChosen = isChosen
    }

    /// These, and the one that holds the id.
    public static func only(_ members: any PartialKeyPath<Entity> & Sendable...) -> Fields {
        Fields(members.map { Member($0) }, isChosen: true)
    }

    /// Those at these dotted paths, and the one that holds the id.
    public static func only(_ paths: String...) -> Fields { Fields(paths.map { Member($0) }, isChosen: true) }

    /// All but these.
    public static func without(_ members: any PartialKeyPath<Entity> & Sendable...) -> Fields {
        Fields(members.map { Member($0) }, isChosen: false)
    }

    /// All but those at these dotted paths.
    public static func without(_ paths: String...) -> Fields { Fields(paths.map { Member($0) }, isChosen: false) }

    func json(_ coding: EntityCoding) throws -> String {
        let members = try self.members.map { try "\($0.name(coding)):\(isChosen ? 1 : 0)" }
        return "{\(members.joined(separator: ","))}"
    }
}
