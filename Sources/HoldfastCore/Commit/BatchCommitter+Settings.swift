internal import HoldfastEnvironment

extension BatchCommitter {
    struct Settings: Sendable {
        var logRetention: UInt64 = 100_000
        var logMaxAgeMilliseconds: UInt64?
        var logMaxBytes = 268_435_456
        var idempotencyMaxCount = 100_000
        var slowBatchNanoseconds: UInt64 = 1_000_000_000
        /// What is validated. Always everything, except in tests of the tests.
        var checks = ConflictChecks.all

        init() {}

        init(_ options: StoreOptions, _ checks: ConflictChecks) {
            logRetention = options.logRetention
            logMaxAgeMilliseconds = options.logMaxAgeMilliseconds
            logMaxBytes = options.logMaxBytes
            idempotencyMaxCount = options.idempotencyMaxCount
            slowBatchNanoseconds = options.slowCommitMilliseconds * 1_000_000
            self.checks = checks
        }
    }
}
