package dev.polis.etcd;

/** Lists the states of a lease for its holder. */
public sealed interface LeaseState {

  /** etcd keeps the lease at least until this state changes or its time runs out here. */
  record Alive() implements LeaseState {}

  /**
   * The lease must be taken for gone, for good. Declared here, on this machine's monotonic clock,
   * before etcd may let the lease expire.
   *
   * @param reason what happened, as text
   */
  record Lost(String reason) implements LeaseState {}

  /** The holder stopped keeping it alive, without revoking it: another keeps it now. */
  record Released() implements LeaseState {}
}
