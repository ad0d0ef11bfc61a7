package dev.polis.api.curator;

import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Checks domain names by the grammar of Kubernetes, and refuses names that read as an IPv4 address.
 */
public final class DomainNames {

  /** Characters of a whole name; the limit of DNS without the trailing dot. */
  private static final int MAX_NAME = 253;

  /** Characters of a cluster's domain; leaves room for the names below it. */
  private static final int MAX_CLUSTER_DOMAIN = 80;

  /** Characters between two dots; the limit of DNS. */
  private static final int MAX_LABEL = 63;

  private static final Pattern LABEL = Pattern.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?");

  /** Labels that browsers read as part of an IPv4 address at the end of a name. */
  private static final Pattern NUMERIC = Pattern.compile("[0-9]+|0[xX][0-9a-fA-F]*");

  private DomainNames() {}

  /**
   * Returns the fault of a domain name.
   *
   * @return the problem as the end of a sentence; empty if the name is well-formed
   */
  public static Optional<String> problem(String name) {
    if (name.isEmpty()) {
      return Optional.of("is empty");
    }
    if (name.length() > MAX_NAME) {
      return Optional.of(tooLong(name, MAX_NAME));
    }
    String[] labels = name.split("\\.", -1);
    for (String label : labels) {
      Optional<String> problem = problemOfLabel(label);
      if (problem.isPresent()) {
        return problem;
      }
    }
    String last = labels[labels.length - 1];
    return NUMERIC.matcher(last).matches()
        ? Optional.of("ends in the number \"%s\" and would read as an address".formatted(last))
        : Optional.empty();
  }

  /**
   * Returns the fault of a cluster's domain, which has a smaller limit of length.
   *
   * @return the problem as the end of a sentence; empty if it is valid
   */
  public static Optional<String> problemOfCluster(String domain) {
    return domain.length() > MAX_CLUSTER_DOMAIN
        ? Optional.of(tooLong(domain, MAX_CLUSTER_DOMAIN))
        : problem(domain);
  }

  private static String tooLong(String name, int allowed) {
    return "has %d characters; %d are allowed".formatted(name.length(), allowed);
  }

  private static Optional<String> problemOfLabel(String label) {
    if (label.isEmpty()) {
      return Optional.of("has an empty part before, between or after its dots");
    }
    if (label.length() > MAX_LABEL) {
      return Optional.of(
          "has a part of %d characters; %d are allowed".formatted(label.length(), MAX_LABEL));
    }
    return LABEL.matcher(label).matches()
        ? Optional.empty()
        : Optional.of(
            "has the part \"%s\", which is not made of lower-case letters, digits and inner dashes"
                .formatted(label));
  }
}
