package dev.polis.api.cluster;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import org.osgi.annotation.versioning.ProviderType;

/** Decides how this node becomes a member and publishes how it stands. Thread-safe. */
@Followed
@ProviderType
public interface ClusterManager {

  /** Returns the node's standing; never empty, the first value is UNKNOWN. */
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
