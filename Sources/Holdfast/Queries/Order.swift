/// A member by which a query sorts, or an index is ordered.
///
///     songs.find(.all, sort: [.descending(\.plays), .ascending("album.year")])
public struct Order<Entity: Codable & Sendable>: Sendable {
    let member: Member<Entity>
    let isDescending: Bool
    /// Whether it is the score of a text search, of no member.
    var isScore = false

    /// Those first that match a text search best: `songs.find(.text("love"), sort: [.score])`. No live query has it.
    public static var score: Order { Order(member: Member("score"), isDescending: true, isScore: true) }

    /// The smallest first.
    public static func ascending(_ member: any PartialKeyPath<Entity> & Sendable) -> Order {
        Order(member: Member(member), isDescending: false)
    }

    /// The smallest first, by a dotted path.
    public static func ascending(_ path: String) -> Order { Order(member: Member(path), isDescending: false) }

    /// The largest first.
    public static func descending(_ member: any PartialKeyPath<Entity> & Sendable) -> Order {
        Order(member: Member(member), isDescending: true)
    }

    /// The largest first, by a dotted path.
    public static func descending(_ path: String) -> Order { Order(member: Member(path), isDescending: true) }
}

extension Array {
    /// As an object of paths with 1 and -1, in this order.
    func json<Entity>(_ coding: EntityCoding) throws -> String where Element == Order<Entity> {
        let members = try map { order in
            let value = order.isScore ? "{\"$meta\":\"textScore\"}" : order.isDescending ? "-1" : "1"
            return try "\(order.member.name(coding)):\(value)"
        }
        return "{\(members.joined(separator: ","))}"
    }
}
