package dev.polis.plugins.metatype;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;

/**
 * Describes one key of an organ's configuration from its metatype file.
 *
 * @param id the key
 * @param type Boolean, Integer, Long, String, …
 * @param many true if the key takes a list
 * @param min the smallest number it takes
 * @param max the largest number it takes
 * @param fallback the default value, as a text; may be empty
 * @param description the description for people; may be empty
 */
public record ConfigurationKey(
    String id, String type, boolean many, long min, long max, String fallback, String description) {

  /**
   * Converts a value from text.
   *
   * @param text the text from the command line; commas separate the elements of a list
   * @return the value with the key's type, for the configuration dictionary
   * @throws IllegalArgumentException if the text does not fit; the message names the reason
   */
  public Object value(String text) {
    if (!many) {
      return single(text);
    }
    List<Object> values = new ArrayList<>();
    if (!text.isEmpty()) {
      for (String part : text.split(",", -1)) {
        values.add(single(part.strip()));
      }
    }
    return values.toArray(
        size ->
            (Object[])
                Array.newInstance(
                    values.isEmpty() ? String.class : values.getFirst().getClass(), size));
  }

  private Object single(String text) {
    return switch (type) {
      case "Boolean" -> flag(text);
      case "Integer" -> Math.toIntExact(number(text, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case "Long" -> number(text, Long.MIN_VALUE, Long.MAX_VALUE);
      case "Double" -> Double.valueOf(text);
      default -> text;
    };
  }

  private static Boolean flag(String text) {
    return switch (text) {
      case "true" -> Boolean.TRUE;
      case "false" -> Boolean.FALSE;
      default -> throw new IllegalArgumentException("\"" + text + "\" is neither true nor false");
    };
  }

  private long number(String text, long smallest, long largest) {
    long number;
    try {
      number = Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("\"" + text + "\" is no whole number", e);
    }
    long from = Math.max(min, smallest);
    long to = Math.min(max, largest);
    if (number < from || number > to) {
      throw new IllegalArgumentException(number + " is not within " + from + " to " + to);
    }
    return number;
  }
}
