package dev.polis.process;

/**
 * Lists the accounts of child processes of a node that runs as root. They exist only as numbers,
 * see {@link RunAs#number}: they have no name, password or rights, and each runs one kind of child.
 * All nodes have the same, so that a data volume can move to another machine.
 */
public enum Account {
  /** Runs Prometheus' node exporter. */
  NODE_EXPORTER(60_901),
  /** Runs etcd. */
  ETCD(60_902),
  /** Runs Kubernetes' API server. */
  KUBE_APISERVER(60_903),
  /** Runs Kubernetes' controller manager. */
  KUBE_CONTROLLER_MANAGER(60_904),
  /** Runs Kubernetes' scheduler. */
  KUBE_SCHEDULER(60_905),
  /** Runs the DNS server of a worker. */
  COREDNS(60_906),
  /** Keeps the machine's clock. */
  CHRONYD(60_907);

  private final int number;

  Account(int number) {
    this.number = number;
  }

  /** Returns the number of the user and of its group. */
  public int number() {
    return number;
  }

  /** Returns the text for {@link ProcessSpec#withAccount}. */
  public String text() {
    return RunAs.number(number);
  }
}
