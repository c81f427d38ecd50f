public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery
public import HoldfastStorage

/// What an operator of a store needs, as `maintenance.h` describes it.
extension Store {
    /// Copies the newest committed state into a new file. Answers {"path","sequence","bytes"}.
    public func backUp(to path: String, _ progress: Progress) throws(HoldfastError) -> [UInt8] {
        try requireOpen()
        var bytes: UInt64 = 0
        let sequence = try storage.backUp(to: path) { done, total throws(HoldfastError) in
            bytes = total
            return try report(progress, done, total)
        }
        diagnostics.info(
            "store backed up", [("path", .text(path)), ("sequence", .number(sequence)), ("bytes", .number(bytes))])
        return JSONWriter.object { writer in
            writer.member("path", path)
            writer.member("sequence", sequence)
            writer.member("bytes", bytes)
        }
    }

    /// Gives unused space back while nobody commits. Answers {"bytes_before","bytes_after"}.
    public func compact() throws(HoldfastError) -> [UInt8] {
        try requireWritable()
        let end = Interrupt.Flag()
        func stop() -> Bool {
            defer { storage.stopCompacting(end) }
            return end.set()
        }
        let (before, after) = try Interrupt.whileAsking(environment.limits, stop: stop) {
            [queue] () throws(HoldfastError) in try queue.compact(unless: end)
        }
        diagnostics.info("store compacted", [("bytes_before", .number(before)), ("bytes_after", .number(after))])
        return JSONWriter.object { writer in
            writer.member("bytes_before", before)
            writer.member("bytes_after", after)
        }
    }

    /// Checks the engine's files, every entity and every index.
    public func verify(_ progress: Progress) throws(HoldfastError) -> [UInt8] {
        try requireOpen()
        try refreshCatalogue()
        let problems = try storage.problems()
        var reports: [RepositoryReport] = []
        var entities: UInt64 = 0
        for record in catalogue.all {
            let report = try RepositoryReport(of: Repository(store: self, record: record)) {
                done throws(HoldfastError) in
                try self.report(progress, entities + done, 0)
            }
            entities += report.entities
            reports.append(report)
        }
        let isOK = problems.isEmpty && reports.allSatisfy(\.isOK)
        if !isOK { diagnostics.error("the store was verified and is damaged") }
        return JSONWriter.object { writer in
            writer.member("ok", isOK)
            writer.member("problems", each: problems) { writer, problem in writer.string(problem) }
            writer.member("repositories", each: reports) { writer, report in report.write(to: &writer) }
        }
    }

    /// The host's code runs here, and may have forked.
    func report(_ progress: Progress, _ done: UInt64, _ total: UInt64) throws(HoldfastError) -> Bool {
        let goesOn = try progress(done, total)
        try requireSameProcess()
        return goesOn
    }

    static func cancelled(_ what: String) -> HoldfastError {
        HoldfastError(.cancelled, "\(what): the progress callback said to stop")
    }
}
