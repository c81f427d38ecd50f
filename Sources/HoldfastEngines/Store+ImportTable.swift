public import HoldfastCore
internal import HoldfastSQLite

extension Store {
    /// Imports a table of any SQLite file, as `transfer.h` describes it.
    public func importTable(
        _ table: String, of path: String, _ options: TableImportOptions, _ progress: @escaping Progress
    ) throws(HoldfastError) -> [UInt8] {
        let name = options.repository ?? table
        let target = try repository(name)
        let rows = try SQLiteTable(table, of: path, key: target.record.key, options)
        return try importEntities(to: name, options.general, { () throws(HoldfastError) in try rows.next() }, progress)
    }
}
