package dev.polis.plugins.plan;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.osgi.framework.Version;

/**
 * Splits a manifest header by the framework's grammar: clauses by comma, parameters by semicolon,
 * quotes around values.
 */
public final class ManifestHeader {

  /**
   * Is one clause of a header.
   *
   * @param name the first path of the clause, {@code osgi.service}
   * @param attributes by name; a {@code String}, or the attribute's own type: {@code Version},
   *     {@code Long}, a list of strings
   * @param directives by name; values without quotes
   */
  public record Clause(
      String name, Map<String, Object> attributes, Map<String, String> directives) {}

  private ManifestHeader() {}

  /**
   * @param header the value of a header, or null if the manifest has none
   * @return its clauses in order
   */
  public static List<Clause> parse(String header) {
    List<Clause> clauses = new ArrayList<>();
    if (header != null) {
      for (String clause : split(header, ',')) {
        if (!clause.isBlank()) {
          clauses.add(clause(clause));
        }
      }
    }
    return clauses;
  }

  /**
   * Splits a header and leaves its clauses unchanged.
   *
   * @param header the value of a header, or null if the manifest has none
   */
  public static List<String> clauses(String header) {
    return header == null ? List.of() : split(header, ',').stream().map(String::strip).toList();
  }

  /** Splits outside of quotes; a backslash escapes the next character. */
  private static List<String> split(String text, char separator) {
    List<String> parts = new ArrayList<>();
    StringBuilder part = new StringBuilder();
    boolean quoted = false;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\\' && i + 1 < text.length()) {
        part.append(c).append(text.charAt(++i));
      } else if (c == separator && !quoted) {
        parts.add(part.toString());
        part.setLength(0);
      } else {
        quoted ^= c == '"';
        part.append(c);
      }
    }
    parts.add(part.toString());
    return parts;
  }

  private static Clause clause(String text) {
    List<String> parts = split(text, ';');
    Map<String, Object> attributes = new HashMap<>();
    Map<String, String> directives = new HashMap<>();
    for (String parameter : parts.subList(1, parts.size())) {
      int equals = parameter.indexOf('=');
      if (equals < 0) {
        continue;
      }
      String value = unquote(parameter.substring(equals + 1).strip());
      if (equals > 0 && parameter.charAt(equals - 1) == ':') {
        directives.put(parameter.substring(0, equals - 1).strip(), value);
      } else {
        String name = parameter.substring(0, equals).strip();
        int type = name.indexOf(':');
        attributes.put(
            type < 0 ? name : name.substring(0, type),
            type < 0 ? value : typed(name.substring(type + 1), value));
      }
    }
    return new Clause(parts.getFirst().strip(), attributes, directives);
  }

  private static Object typed(String type, String value) {
    return switch (type.strip()) {
      case "Version" -> Version.parseVersion(value);
      case "Long" -> Long.valueOf(value.strip());
      case "List", "List<String>" ->
          split(value, ',').stream().map(String::strip).filter(part -> !part.isEmpty()).toList();
      default -> value;
    };
  }

  private static String unquote(String value) {
    boolean quoted = value.length() >= 2 && value.startsWith("\"") && value.endsWith("\"");
    String inner = quoted ? value.substring(1, value.length() - 1) : value;
    return inner.replaceAll("\\\\(.)", "$1");
  }
}
