package dev.polis.network;

import dev.polis.logtree.Log;
import dev.polis.pki.NodeId;
import dev.polis.posix.Machine;
import dev.polis.posix.PosixException;

/** Gives the machine the node's name, if the node is the machine's first process. */
final class HostName {

  private HostName() {}

  /** Sets the host name; on a machine that others share it is left alone. */
  static void set(NodeId node, Log log) {
    if (!Machine.isFirstProcess()) {
      return;
    }
    try {
      Machine.hostName(node.text());
    } catch (PosixException e) {
      // A container may have been given no such right; nothing of ours asks the kernel for the
      // name.
      log.warning("The host name stays as it is: %s", e.getMessage());
    }
  }
}
