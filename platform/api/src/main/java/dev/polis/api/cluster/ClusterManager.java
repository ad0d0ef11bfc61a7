package dev.polis.api.cluster;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import org.osgi.annotation.versioning.ProviderType;

/** Makes this node a member of a cluster, and publishes its standing there. Thread-safe. */
@Followed
@ProviderType
public interface ClusterManager {

  /** Returns the node's standing, which begins with UNKNOWN. */
  Value<ClusterStatus> status();

  /**
   * Waits until the node is HOME.
   *
   * @return the status that said so
   * @throws DisownedException if the cluster has disowned this node
   * @throws EnrolmentException if enrolment has failed; the message is its root cause
   * @throws InterruptedException if the caller was interrupted; a later call works again
   */
  ClusterStatus awaitHome() throws InterruptedException;
}
