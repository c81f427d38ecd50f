/// Searching texts.
extension Filter {
    /// The repository's text index has the words: `songs.find(.text("love -hate \"true blue\""), sort: [.score])`.
    ///
    /// One of the words at least is there, phrases in quotes each as a whole, and none of what stands behind a hyphen.
    /// It may stand once in a filter, also in `&&` and `||`; negated it is refused. Without a text index the query throws
    /// `.invalidQuery`: `createTextIndex` makes one.
    /// - Parameters:
    ///   - search: At most 256 words.
    ///   - language: How the words of the search are stemmed; nil: as those of the index.
    public static func text(_ search: String, language: String? = nil) -> Filter {
        var members = ["$search": search]
        if let language { members["$language"] = language }
        return Filter(["$text": members])
    }
}
