internal import Holdfast

#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// A transaction as a publisher: one value and `.finished`, or one failure. It is cold, as `OperationPublisher` is: each
/// subscriber that asks for a value has the transaction run.
public struct TransactionPublisher<Result: Sendable>: Publisher, Sendable {
    public typealias Output = Result
    /// What is no error of a repository's comes as `.unknownError`, which carries it.
    public typealias Failure = RepositoryError

    private let transaction: AnyTransaction<Result>

    /// The publisher of a transaction.
    public init(_ transaction: some Transaction<Result> & Sendable) {
        self.transaction = transaction as? AnyTransaction<Result> ?? AnyTransaction(transaction)
    }

    /// The publisher of a function, which runs on a thread that may wait.
    public init(transactionClosure: @escaping @Sendable () throws -> Result) {
        transaction = AnyTransaction(transactionClosure: transactionClosure)
    }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        transaction.operation.publisher.mapError { RepositoryError($0) }.subscribe(subscriber)
    }
}

extension Transaction where Self: Sendable {
    /// Runs the transaction for each subscriber: one value, or one failure.
    public var publisher: TransactionPublisher<Result> { TransactionPublisher(self) }
}
