public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastSQLite
public import HoldfastServices
public import HoldfastStorage

extension Store {
    /// Imports a table of any SQLite file, as `transfer.h` describes it.
    public func importTable(
        _ table: String, of path: String, _ options: TableImportOptions, _ progress: @escaping Progress
    ) throws(HoldfastError) -> [UInt8] {
        let name = options.repository ?? table
        try requireWritable()
        // Created when there is a row to put there, or to say that there is none.
        let rows = try SQLiteTable(table, of: path, key: try keyIfThere(of: name), options)
        return try importEntities(to: name, options.general, { () throws(HoldfastError) in try rows.next() }, progress)
    }

    private func keyIfThere(of name: String) throws(HoldfastError) -> String {
        var known = RepositoryOptions()
        known.create = false
        do throws(HoldfastError) { return try repository(name, options: known).record.key } catch {
            guard error.status == .notFound else { throw error }
            return RepositoryOptions.standardKey
        }
    }
}
