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
 * Describes a service or extender without which a bundle does not start.
 *
 * @param namespace {@code osgi.service} or {@code osgi.extender}
 * @param filter what the offer has to match, in the framework's filter language
 * @param optional whether the bundle works, with less, when no offer matches
 */
public record Need(String namespace, String filter, boolean optional) {
  private static final Pattern TYPE =
      Pattern.compile("\\((?:objectClass|osgi\\.extender)=([^)]*)\\)");

  /** Checks for null. */
  public Need {
    Objects.requireNonNull(namespace, "namespace");
    Objects.requireNonNull(filter, "filter");
  }

  /**
   * @return what is needed in a word a person knows: the interface of the service, or the name of
   *     the extender
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

  /** Returns whether an offer says that the contract that is needed is followed. */
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
