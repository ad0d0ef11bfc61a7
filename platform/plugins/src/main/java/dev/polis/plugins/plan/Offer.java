package dev.polis.plugins.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Describes what a bundle provides: a service, or the work of an extender.
 *
 * @param namespace {@code osgi.service} or {@code osgi.extender}
 * @param attributes what a filter can ask for; the value is a string, a list of strings, a version
 *     or a number
 */
public record Offer(String namespace, Map<String, Object> attributes) {
  static final String SERVICE = "osgi.service";
  static final String EXTENDER = "osgi.extender";
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
      if (clause.name().equals(SERVICE) || clause.name().equals(EXTENDER)) {
        offers.add(new Offer(clause.name(), clause.attributes()));
      }
    }
    return offers;
  }
}
