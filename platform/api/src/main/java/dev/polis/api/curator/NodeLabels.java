package dev.polis.api.curator;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Holds the labels of a node: at most {@value #MAX_COUNT} pairs in the grammar of Kubernetes, so
 * that they can be copied there.
 *
 * @param pairs the labels by key, sorted
 */
public record NodeLabels(SortedMap<String, String> pairs) {

  /** The most labels of a node; the limit of the wire format. */
  public static final int MAX_COUNT = 128;

  /** Characters of a name or a value; the limit of Kubernetes. */
  private static final int MAX_NAME = 63;

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?");

  public NodeLabels {
    if (pairs.size() > MAX_COUNT) {
      throw new IllegalArgumentException(
          "%d labels are more than the %d a node can have; remove some"
              .formatted(pairs.size(), MAX_COUNT));
    }
    pairs.forEach(
        (key, value) -> {
          check(problemOfKey(key), "label key", key);
          check(problemOfValue(value), "label value", value);
        });
    pairs = Collections.unmodifiableSortedMap(new TreeMap<>(pairs));
  }

  private static void check(Optional<String> problem, String what, String text) {
    if (problem.isPresent()) {
      throw new IllegalArgumentException("%s \"%s\": %s".formatted(what, text, problem.get()));
    }
  }

  /** Returns an empty set of labels. */
  public static NodeLabels none() {
    return new NodeLabels(new TreeMap<>());
  }

  /**
   * Returns labels made of pairs.
   *
   * @throws IllegalArgumentException if a key or a value is not well-formed, or there are too many
   */
  public static NodeLabels of(Map<String, String> pairs) {
    return new NodeLabels(new TreeMap<>(pairs));
  }

  /**
   * Returns the fault of a key.
   *
   * @return the problem as text; empty if the key is well-formed
   */
  public static Optional<String> problemOfKey(String key) {
    int slash = key.indexOf('/');
    if (slash < 0) {
      return problemOfName(key);
    }
    if (key.indexOf('/', slash + 1) >= 0) {
      return Optional.of("has more than one slash");
    }
    return DomainNames.problem(key.substring(0, slash))
        .map(problem -> "its domain " + problem)
        .or(() -> problemOfName(key.substring(slash + 1)));
  }

  private static Optional<String> problemOfName(String name) {
    if (name.isEmpty()) {
      return Optional.of("is empty");
    }
    return problemOfText(name);
  }

  /**
   * Returns the fault of a value.
   *
   * @return the problem as text; empty if the value is well-formed
   */
  public static Optional<String> problemOfValue(String value) {
    return value.isEmpty() ? Optional.empty() : problemOfText(value);
  }

  private static Optional<String> problemOfText(String text) {
    if (text.length() > MAX_NAME) {
      return Optional.of("has %d characters; %d are allowed".formatted(text.length(), MAX_NAME));
    }
    if (!NAME.matcher(text).matches()) {
      return Optional.of(
          "must begin and end with a letter or digit and have only letters, digits, '-', '_' and"
              + " '.' between");
    }
    return Optional.empty();
  }
}
