package dev.polis.api.roles;

import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Names a role that a cluster can give to a node. Names are open: a bundle brings a role by
 * registering a {@link RolePlugin} with its name.
 *
 * @param text 1 to {@value #LONGEST} letters and digits, the first one an upper-case letter
 */
public record RoleName(String text) implements Comparable<RoleName> {

  /** The length of the longest name, which is that of a label of Kubernetes. */
  public static final int LONGEST = 63;

  // Capitals separate the words, so file names, logs and labels need no other sign.
  private static final Pattern GRAMMAR =
      Pattern.compile("[A-Z][A-Za-z0-9]{0," + (LONGEST - 1) + "}");

  private static final List<String> WELL_KNOWN =
      List.of("ConsensusMember", "KubernetesController", "KubernetesWorker");

  /** Runs a member of etcd and a curator. */
  public static final RoleName CONSENSUS_MEMBER = new RoleName("ConsensusMember");

  /** Runs the Kubernetes control plane. */
  public static final RoleName KUBERNETES_CONTROLLER = new RoleName("KubernetesController");

  /** Runs Kubernetes workloads. */
  public static final RoleName KUBERNETES_WORKER = new RoleName("KubernetesWorker");

  /**
   * Accepts a name.
   *
   * @throws IllegalArgumentException if it is malformed; the message names the fault
   */
  public RoleName {
    Optional<String> problem = problemOf(text);
    if (problem.isPresent()) {
      throw new IllegalArgumentException("\"%s\" %s".formatted(text, problem.get()));
    }
  }

  /**
   * Returns the fault of a name.
   *
   * @return text that follows the name, such as {@code "is not the name of a role: …"}; empty if it
   *     is valid
   */
  public static Optional<String> problemOf(String text) {
    if (!GRAMMAR.matcher(text).matches()) {
      return Optional.of(
          "is not the name of a role: use 1 to %d letters and digits, the first one an upper-case letter, as in KubernetesWorker"
              .formatted(LONGEST));
    }
    // No plugin would ever run a second spelling of a well-known name.
    return WELL_KNOWN.stream()
        .filter(known -> known.equalsIgnoreCase(text) && !known.equals(text))
        .findFirst()
        .map("is not the name of a role: did you mean %s?"::formatted);
  }

  @Override
  public int compareTo(RoleName other) {
    return text.compareTo(other.text);
  }

  @Override
  public String toString() {
    return text;
  }
}
