public import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The repositories of a store, as `store.h` describes it.
extension Store {
    /// The names of those that are there, in order.
    public func repositories() throws(HoldfastError) -> [String] {
        try requireOpen()
        return Catalogue.listed(try readState().repositories).map(\.name)
    }

    /// Takes a repository away with everything in it, in one commit.
    public func drop(_ name: String) throws(HoldfastError) { try change(.dropRepository(name: name), name) }

    /// Gives a repository another name, in one commit.
    public func rename(_ name: String, to newName: String) throws(HoldfastError) {
        try Catalogue.check(newName)
        try change(.renameRepository(name: name, to: newName), name)
    }

    private func change(_ change: CatalogueChange, _ name: String) throws(HoldfastError) {
        try Catalogue.check(name)
        try requireWritable()
        // Its entities lie with the host under the name, and not all in one commit could they be taken from there.
        guard storage.keepsCatalogue else {
            throw HoldfastError(
                .unsupported,
                "the entities of \"\(name)\" lie with the store's provider, which keeps them by this name: delete them, or "
                    + "store them under another name, by themselves")
        }
        _ = try queue.commit(Commit(change, isDurable: options.isDurable))
    }
}
