package dev.polis.logtree;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Checks and converts distinguished names: parts joined by dots; the empty name is the root of all.
 */
public final class Dn {
  /** The name above all others. */
  public static final String ROOT = "";

  private static final Map<String, String> SHORT_PARTS =
      Map.of(
          "controlplane", "cplane",
          "kubernetes", "k8s",
          "network", "net",
          "networking", "net",
          "interfaces", "ifaces",
          "management", "mgmt",
          "containers", "cont");

  /** The instance number at the end of a part. */
  private static final Pattern INSTANCE = Pattern.compile("~[0-9]+(?=\\.|$)");

  private Dn() {}

  /**
   * Returns the name if it is valid.
   *
   * @throws IllegalArgumentException if it has an empty part
   */
  public static String check(String dn) {
    if (dn.startsWith(".") || dn.endsWith(".") || dn.contains("..")) {
      throw new IllegalArgumentException(
          "name \"" + dn + "\" has an empty part; write parts joined by single dots");
    }
    return dn;
  }

  /**
   * Returns the name of the journal of a name, without instance numbers. Two instances of one organ
   * may live for a moment; the second has a number in its name, {@code root.storage~2}, and the
   * same journals as the first.
   *
   * @param dn a name, with or without numbers of instances
   * @return the name without them
   * @throws IllegalArgumentException if it has an empty part
   */
  public static String journal(String dn) {
    return dn.indexOf('~') < 0 ? check(dn) : check(INSTANCE.matcher(check(dn)).replaceAll(""));
  }

  /**
   * Returns whether {@code dn} is {@code ancestor} or below it; {@code a.bc} is not below {@code
   * a.b}.
   */
  public static boolean isWithin(String dn, String ancestor) {
    return ancestor.isEmpty()
        || dn.startsWith(ancestor)
            && (dn.length() == ancestor.length() || dn.charAt(ancestor.length()) == '.');
  }

  /**
   * Shortens a name for narrow columns: it abbreviates long parts, omits {@code root}, keeps of a
   * role's path only the role and the last part, and of a text that is still too long the end after
   * "...".
   */
  public static String shorten(String dn, int width) {
    List<String> parts =
        Arrays.stream(dn.split("\\."))
            .map(part -> SHORT_PARTS.getOrDefault(part, part))
            .collect(Collectors.toList());
    if (parts.size() > 1 && parts.getFirst().equals("root")) {
      parts.removeFirst();
    }
    if (parts.size() > 1 && parts.getFirst().equals("role")) {
      parts.removeFirst();
      if (parts.size() > 2) {
        parts.subList(1, parts.size() - 1).clear();
      }
    }
    String text = String.join(" ", parts);
    return text.length() <= width
        ? text
        : "..." + text.substring(text.length() - Math.max(0, width - 3));
  }
}
