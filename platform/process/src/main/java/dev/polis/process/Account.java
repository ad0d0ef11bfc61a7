package dev.polis.process;

/**
 * Lists the accounts of a node's children, where the node is root. They exist as numbers alone, see
 * {@link RunAs#number}: no name, no password, no rights, and each has one kind of child. All nodes
 * have the same, so that a data volume can move to another machine.
 */
public enum Account {
  /** Of Prometheus' node exporter. */
  NODE_EXPORTER(60_901),
  /** Of etcd. */
  ETCD(60_902),
  /** Of Kubernetes' API server. */
  KUBE_APISERVER(60_903),
  /** Of Kubernetes' controller manager. */
  KUBE_CONTROLLER_MANAGER(60_904),
  /** Of Kubernetes' scheduler. */
  KUBE_SCHEDULER(60_905),
  /** Of the DNS server of a worker. */
  COREDNS(60_906);

  private final int number;

  Account(int number) {
    this.number = number;
  }

  /** Returns its number as a user, which is its number as a group, too. */
  public int number() {
    return number;
  }

  /** Returns its name for {@link ProcessSpec#withAccount}. */
  public String text() {
    return RunAs.number(number);
  }
}
