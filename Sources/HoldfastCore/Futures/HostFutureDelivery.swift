internal import HoldfastEnvironment

/// The callback thread for observers of futures that belong to no store, started at the first of them.
final class HostFutureDelivery: ProcessOwned {
    private static let process = PerProcess<HostFutureDelivery>()

    let epoch: UInt32
    private let delivery = Lock<Delivery?>(nil)

    init(epoch: UInt32) { self.epoch = epoch }

    static func current() throws(HoldfastError) -> Delivery {
        try process.value.delivery.withLock { delivery throws(HoldfastError) in
            if let delivery { return delivery }
            let started = try Delivery(mode: .callback, time: SystemTime())
            try started.start(ThreadWorkers(), delivered: { _ in }, finished: {})
            delivery = started
            return started
        }
    }
}
