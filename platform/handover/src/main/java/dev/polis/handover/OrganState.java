package dev.polis.handover;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Holds what one instance of an organ gives to the next: named values of platform types or of the
 * JDK. Immutable; what the values refer to may change.
 */
public final class OrganState {

  /** Holds nothing. */
  public static final OrganState NONE = new OrganState(Map.of());

  private final Map<String, Object> values;

  private OrganState(Map<String, Object> values) {
    this.values = values;
  }

  /** Returns a state with one more value, or another one of this name. */
  public OrganState with(String name, Object value) {
    Map<String, Object> more = new TreeMap<>(values);
    more.put(name, value);
    return new OrganState(Map.copyOf(more));
  }

  /** Returns a state with one more value if there is one. */
  public OrganState with(String name, Optional<?> value) {
    return value.map(present -> with(name, (Object) present)).orElse(this);
  }

  /**
   * Returns a value.
   *
   * @param name under which it was given
   * @param type what it must be
   * @return empty if the other instance gave none of this name
   * @throws HandOverException if it is of another type
   */
  public <T> Optional<T> find(String name, Class<T> type) {
    Object value = values.get(name);
    if (value != null && !type.isInstance(value)) {
      throw new HandOverException(
          "the other instance gave \"%s\" as a %s, and this one takes a %s; the two versions cannot follow each other while they run: stop the old one first"
              .formatted(name, value.getClass().getName(), type.getName()));
    }
    return Optional.ofNullable(value).map(type::cast);
  }

  /** Returns a value that must be there. */
  public <T> T require(String name, Class<T> type) {
    return find(name, type)
        .orElseThrow(
            () ->
                new HandOverException(
                    "the other instance did not give \"%s\", only %s; the two versions cannot follow each other while they run: stop the old one first"
                        .formatted(name, names())));
  }

  /** Returns whether it holds nothing. */
  public boolean isEmpty() {
    return values.isEmpty();
  }

  /** Returns the names of its values, sorted. */
  public List<String> names() {
    return values.keySet().stream().sorted().toList();
  }

  /**
   * Refuses values whose class belongs to the organ itself: the other version has another class of
   * that name, and the old one would never be unloaded.
   *
   * @param giver the instance that gives them
   */
  void requireForeignTypes(String organ, OrganInstance giver) {
    values.forEach((name, value) -> new ForeignTypes(organ, giver, name).require(value));
  }

  /** Closes the values, which no instance takes any more; reports failures and continues. */
  void close(Consumer<String> trouble) {
    values.forEach(
        (name, value) -> {
          if (value instanceof AutoCloseable closeable) {
            try {
              closeable.close();
            } catch (Exception failed) {
              trouble.accept("\"%s\" could not be closed: %s".formatted(name, failed));
            }
          }
        });
  }

  @Override
  public String toString() {
    return values.isEmpty() ? "nothing" : String.join(", ", names());
  }
}
