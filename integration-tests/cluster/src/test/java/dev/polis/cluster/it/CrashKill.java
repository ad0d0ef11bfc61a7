package dev.polis.cluster.it;

/** Names the processes of a node that one kill ends. */
enum CrashKill {
  /** The node's own process; its etcd keeps running, and the next start adopts it. */
  NODE,
  /** Only etcd; the node's own process starts another one. */
  ETCD,
  /** Both processes, as if the machine's memory was lost. */
  BOTH;

  boolean endsNode() {
    return this != ETCD;
  }

  boolean endsEtcd() {
    return this != NODE;
  }

  /** Ends the processes with signal 9; the node's own first, so that it starts no other etcd. */
  void end(TestNode node) throws Exception {
    if (endsNode()) {
      node.killJvm();
    }
    if (endsEtcd()) {
      node.killEtcd();
    }
  }
}
