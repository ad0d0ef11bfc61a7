package dev.polis.plugins.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Describes what a bundle provides: a service, the work of an extender, or proxies of services that
 * others provide.
 *
 * @param namespace {@code osgi.service}, {@code osgi.extender} or {@code polis.following}
 * @param attributes what a filter can ask for; the value is a string, a list of strings, a version
 *     or a number
 */
public record Offer(String namespace, Map<String, Object> attributes) {
  static final String SERVICE = "osgi.service";
  static final String EXTENDER = "osgi.extender";

  /** Declares contracts whose users get a proxy from the bundle, whoever provides them. */
  static final String FOLLOWING = "polis.following";

  private static final Set<String> KNOWN = Set.of(SERVICE, EXTENDER, FOLLOWING);
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

  static List<Offer> parse(String header) {
    List<Offer> offers = new ArrayList<>();
    for (ManifestHeader.Clause clause : ManifestHeader.parse(header)) {
      if (KNOWN.contains(clause.name())) {
        offers.add(new Offer(clause.name(), clause.attributes()));
      }
    }
    return offers;
  }
}
