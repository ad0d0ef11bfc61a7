package dev.polis.plugins.plan;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.osgi.framework.Filter;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.InvalidSyntaxException;

/**
 * Describes a service or extender that a bundle needs for its start.
 *
 * @param namespace {@code osgi.service} or {@code osgi.extender}
 * @param filter the condition for the offer, in the framework's filter language
 * @param optional true if the bundle works without an offer, with fewer features
 */
public record Need(String namespace, String filter, boolean optional) {
  private static final Pattern TYPE =
      Pattern.compile("\\((?:objectClass|osgi\\.extender)=([^)]*)\\)");

  public Need {
    Objects.requireNonNull(namespace, "namespace");
    Objects.requireNonNull(filter, "filter");
  }

  /**
   * @return the need for people: the interface of the service, or the name of the extender
   */
  public String what() {
    Matcher type = TYPE.matcher(filter);
    String kind = namespace.equals(Offer.SERVICE) ? "service " : "extender ";
    return kind + (type.find() ? type.group(1) : filter);
  }

  /**
   * @return the package of the service's interface, or an empty text
   */
  String contract() {
    Matcher type = TYPE.matcher(filter);
    int dot = type.find() ? type.group(1).lastIndexOf('.') : -1;
    return dot < 0 ? "" : type.group(1).substring(0, dot);
  }

  boolean metBy(Offer offer) {
    return offer.namespace().equals(namespace) && matches(offer);
  }

  /** Returns whether an offer declares that the needed contract is followed. */
  boolean followedBy(Offer offer) {
    return namespace.equals(Offer.SERVICE)
        && offer.namespace().equals(Offer.FOLLOWED)
        && matches(offer);
  }

  private boolean matches(Offer offer) {
    try {
      Filter parsed = FrameworkUtil.createFilter(filter);
      return parsed.matches(new HashMap<String, Object>(offer.attributes()));
    } catch (InvalidSyntaxException e) {
      throw new IllegalArgumentException(
          "the filter " + filter + " is no filter: " + e.getMessage(), e);
    }
  }

  static List<Need> parse(String header) {
    List<Need> needs = new ArrayList<>();
    for (ManifestHeader.Clause clause : ManifestHeader.parse(header)) {
      Map<String, String> directives = clause.directives();
      boolean counts = clause.name().equals(Offer.SERVICE) || clause.name().equals(Offer.EXTENDER);
      if (counts && directives.containsKey("filter")) {
        needs.add(
            new Need(
                clause.name(),
                directives.get("filter"),
                "optional".equals(directives.get("resolution"))));
      }
    }
    return needs;
  }
}
