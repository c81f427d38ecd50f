import HoldfastFamiliar

/// A chart whose elements always sum up to 100 %, in memory and in the store.
///
/// Its types and calls are those that people know from libraries for such trees. What differs: it imports `HoldfastFamiliar`, and
/// `Transaction` as a type is written `any Transaction`, because it has a result.
final class PieChart: Transactable {
    private(set) var elements: [String: PieChartElement] = [:]
    /// To be used in case of rollback. Always up to date outside of transactions.
    private var elementsBackup: [String: PieChartElement] = [:]

    var transactionContext: TransactionContext { _transactionContext! }
    private var _transactionContext: TransactionContext?

    init() {
        _transactionContext = TransactionContext.createRoot(owner: self)
    }

    func addElement(label: String, percentage: Int) {
        assert(transactionIsActive)
        elements[label] = PieChartElement(chart: self, label: label, percentage: percentage)
    }

    func removeElement(label: String) {
        assert(transactionIsActive)
        elements[label] = nil
    }

    func onBegin(transaction: any Transaction) {}

    func onValidateCommit() throws {
        guard elements.isEmpty || elements.values.reduce(0, { $0 + $1.percentage }) == 100 else {
            throw PieChartError.totalPercentageIsNot100
        }
    }

    func onCommit(transaction: any Transaction) {
        // Releases removed elements.
        elementsBackup = elements
    }

    func onRollback(transaction: any Transaction) {
        elements = elementsBackup
    }
}

/// One element of a chart.
final class PieChartElement: Transactable {
    let label: String

    var percentage: Int {
        get { _percentage }
        set {
            assert(transactionIsActive)
            _percentage = newValue
        }
    }
    private var _percentage: Int
    private var _percentageBackup: Int

    var transactionContext: TransactionContext { _transactionContext! }
    private var _transactionContext: TransactionContext?

    init(chart: PieChart, label: String, percentage: Int) {
        self.label = label
        _percentage = percentage
        _percentageBackup = percentage
        _transactionContext = TransactionContext.createNode(owner: self, parent: chart)
    }

    func onBegin(transaction: any Transaction) {}

    func onValidateCommit() throws {
        guard _percentage > 0 else { throw PieChartError.elementIsNotPositive }
        guard _percentage <= 100 else { throw PieChartError.elementIsGreaterThan100 }
    }

    func onCommit(transaction: any Transaction) {
        _percentageBackup = _percentage
    }

    func onRollback(transaction: any Transaction) {
        _percentage = _percentageBackup
    }
}

enum PieChartError: Error {
    case elementIsNotPositive
    case elementIsGreaterThan100
    case totalPercentageIsNot100
}
