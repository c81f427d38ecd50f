internal import Synchronization

extension Store {
    /// What is wrong with the store's parts, each of which says in a file like this what must hold at every moment. Takes
    /// one lock after the other, so that it may be asked while threads work. For tests.
    ///
    /// `isQuiet`: no call is under way, and no worker's step. Then streams are looked at too, and snapshots are held by open
    /// transactions alone.
    package func violatedInvariant(isQuiet: Bool = false) -> String? {
        if let fault = queue.violatedInvariant() ?? snapshots.violatedInvariant() ?? cache.violatedInvariant()
            ?? follower.violatedInvariant(isQuiet: isQuiet)
        {
            return fault
        }
        let (holders, open) = (snapshots.holderCount, openTransactions.load(ordering: .relaxed))
        return isQuiet && holders > open ? "store: \(open) open transactions hold \(holders) snapshots" : nil
    }
}
