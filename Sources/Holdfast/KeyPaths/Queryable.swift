/// Helps the library where it cannot find out by itself which member of the JSON a key path means.
///
/// Nothing need conform for key paths to work: the library decodes a few instances of the type from values that it makes
/// up, encodes them, and sees which member holds what the key path reads. So it honours coding keys, nested types, and
/// the encoder of the repository. Enumerations, with associated values too, ranges, and Foundation's common types are among
/// what it can make up. It refuses what it cannot see for certain, with `.invalidQuery`: a computed property (also one with an
/// observer or a wrapper, which Swift does not tell apart), members that are always equal, a name with a dot, and types that
/// cannot be decoded from made-up values, such as those whose initializers refuse what is unusual. The message names the type
/// that has to conform, and what it has to tell:
///
///     extension Song: Queryable {
///         static var paths: [PartialKeyPath<Song>: String] { [\.level: "level", \.album.year: "album.released"] }
///     }
///     extension Email: Queryable {
///         static var samples: [Email] { [Email("ada@example.org")!, Email("alan@example.org")!] }
///     }
public protocol Queryable {
    /// Paths by key paths that begin at this type; they are taken as they are. None by default.
    static var paths: [PartialKeyPath<Self>: String] { get }
    /// Two values, encoded differently, that members of this type may have. None by default.
    static var samples: [Self] { get }
}

extension Queryable {
    /// No paths.
    public static var paths: [PartialKeyPath<Self>: String] { [:] }
    /// No samples.
    public static var samples: [Self] { [] }
}
