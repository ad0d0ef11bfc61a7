package dev.polis.etcd;

/** Lists the states of a lease for its holder. */
public sealed interface LeaseState {

  /** Means that etcd keeps the lease until this state changes or its time runs out here. */
  record Alive() implements LeaseState {}

  /**
   * Means that the lease is lost for good. This machine's monotonic clock decides this before etcd
   * may let the lease expire.
   *
   * @param reason the cause, as text
   */
  record Lost(String reason) implements LeaseState {}

  /**
   * Means that the holder has stopped the renewals without a revocation: another holder renews the
   * lease.
   */
  record Released() implements LeaseState {}
}
