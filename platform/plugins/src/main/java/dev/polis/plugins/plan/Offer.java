package dev.polis.plugins.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Describes one offer of a bundle: a service, an extender, or a followed contract.
 *
 * @param namespace {@code osgi.service}, {@code osgi.extender} or {@code polis.followed}
 * @param attributes the attributes for filters; a value is a string, a list of strings, a version
 *     or a number
 */
public record Offer(String namespace, Map<String, Object> attributes) {
  static final String SERVICE = "osgi.service";

  /** The namespace of extenders. */
  public static final String EXTENDER = "osgi.extender";

  /** The namespace in which a bundle declares its followed contracts. */
  public static final String FOLLOWED = "polis.followed";

  /**
   * The extender that gives a proxy to the users of a followed contract, whichever bundle provides
   * it.
   */
  public static final String FOLLOWER = "polis.following";

  private static final Set<String> KNOWN = Set.of(SERVICE, EXTENDER, FOLLOWED);
  private static final String OBJECT_CLASS = "objectClass";

  /** Copies its arguments. */
  public Offer {
    attributes = Map.copyOf(attributes);
  }

  /**
   * @param type the name of a service's interface
   * @return the offer of such a service, for the launcher's own services
   */
  public static Offer service(String type) {
    return new Offer(SERVICE, Map.of(OBJECT_CLASS, List.of(type)));
  }

  /** Returns whether this is the extender that follows contracts. */
  boolean follows() {
    return namespace.equals(EXTENDER) && FOLLOWER.equals(attributes.get(EXTENDER));
  }

  /**
   * Reads the offers of a bundle.
   *
   * @param header the value of Provide-Capability, or null if the manifest has none
   */
  public static List<Offer> parse(String header) {
    List<Offer> offers = new ArrayList<>();
    for (ManifestHeader.Clause clause : ManifestHeader.parse(header)) {
      if (KNOWN.contains(clause.name())) {
        offers.add(new Offer(clause.name(), clause.attributes()));
      }
    }
    return offers;
  }
}
