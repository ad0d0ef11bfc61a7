package dev.polis.kubernetes.control;

import dev.polis.handover.OrganState;
import dev.polis.kubernetes.pki.KubeKeys;
import java.net.URI;
import java.util.Optional;

/**
 * Describes the API server that was ready, for the next instance of this code.
 *
 * @param address its address
 * @param digest the digest of its description; another one wants another process
 * @param pid its process id
 * @param keys the keys and certificates of its cluster
 */
record ReadyServer(URI address, String digest, long pid, KubeKeys keys) {

  private static final String ADDRESS = "api-server-address";
  private static final String DIGEST = "api-server-digest";
  private static final String PID = "api-server-pid";

  /** Returns the description as values that another version of this code can read. */
  OrganState facts() {
    return keys.addTo(OrganState.NONE.with(ADDRESS, address).with(DIGEST, digest).with(PID, pid));
  }

  /** Reads the description that another instance gave; empty if it had no ready API server. */
  static Optional<ReadyServer> of(OrganState facts) {
    Optional<KubeKeys> keys = KubeKeys.find(facts);
    if (keys.isEmpty() || facts.find(ADDRESS, URI.class).isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new ReadyServer(
            facts.require(ADDRESS, URI.class),
            facts.require(DIGEST, String.class),
            facts.require(PID, Long.class),
            keys.get()));
  }

  /** Omits the keys. */
  @Override
  public String toString() {
    return "ReadyServer[%s, process %d]".formatted(address, pid);
  }
}
