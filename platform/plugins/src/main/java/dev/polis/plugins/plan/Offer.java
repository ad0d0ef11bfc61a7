package dev.polis.plugins.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Describes what a bundle provides: a service, the work of an extender, or a contract that is
 * followed.
 *
 * @param namespace {@code osgi.service}, {@code osgi.extender} or {@code polis.followed}
 * @param attributes what a filter can ask for; the value is a string, a list of strings, a version
 *     or a number
 */
public record Offer(String namespace, Map<String, Object> attributes) {
  static final String SERVICE = "osgi.service";

  /** The name space of extenders. */
  public static final String EXTENDER = "osgi.extender";

  /** The name space in which a bundle says which contracts of its own are followed. */
  public static final String FOLLOWED = "polis.followed";

  /**
   * The extender that gives the users of a followed contract a proxy, whichever bundle provides it.
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
   * @return the offer of such a service, for what the launcher itself brings along
   */
  public static Offer service(String type) {
    return new Offer(SERVICE, Map.of(OBJECT_CLASS, List.of(type)));
  }

  /** Returns whether it is the work of the extender that follows contracts. */
  boolean follows() {
    return namespace.equals(EXTENDER) && FOLLOWER.equals(attributes.get(EXTENDER));
  }

  /**
   * Reads what a bundle provides.
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
