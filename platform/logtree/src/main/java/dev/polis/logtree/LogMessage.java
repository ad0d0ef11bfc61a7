package dev.polis.logtree;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Array;
import java.nio.Buffer;
import java.security.Key;
import java.security.KeyPair;
import java.security.PublicKey;
import java.util.Collection;
import java.util.IllegalFormatException;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;

/** Formats messages without printing secrets, and never throws. */
public final class LogMessage {
  // Deep enough for a map of lists; a cycle ends here.
  private static final int MAX_DEPTH = 4;

  private LogMessage() {}

  /** Formats a message by the rules of {@link Log}. */
  public static String format(String format, Object... arguments) {
    if (format == null || arguments == null || arguments.length == 0) {
      return String.valueOf(format);
    }
    StringBuilder out = new StringBuilder(format.length() + 16 * arguments.length);
    int used = simple(format, arguments, out);
    if (used < 0) {
      out.setLength(0);
      used = general(format, arguments, out);
    }
    if (used < arguments.length && arguments[arguments.length - 1] instanceof Throwable cause) {
      out.append('\n').append(stackTrace(cause));
    }
    return out.toString();
  }

  /**
   * Returns the printable form of an argument: a stand-in for secrets, keys, byte and char arrays,
   * also inside arrays, collections, maps and Optionals; other arguments unchanged.
   */
  public static Object redact(Object argument) {
    return redact(argument, 0);
  }

  /**
   * Formats the common placeholders; returns the number of filled ones, or -1 for an unknown one.
   */
  private static int simple(String format, Object[] arguments, StringBuilder out) {
    int used = 0;
    int from = 0;
    for (int at = format.indexOf('%'); at >= 0; at = format.indexOf('%', from)) {
      out.append(format, from, at);
      char kind = at + 1 < format.length() ? format.charAt(at + 1) : 0;
      switch (kind) {
        case '%' -> out.append('%');
        case 'n' -> out.append('\n');
        case 's' -> {
          if (used == arguments.length) {
            return -1;
          }
          out.append(text(arguments[used++]));
        }
        case 'd' -> {
          if (used == arguments.length || !isInteger(arguments[used])) {
            return -1;
          }
          out.append(arguments[used++]);
        }
        default -> {
          return -1;
        }
      }
      from = at + 2;
    }
    out.append(format, from, format.length());
    return used;
  }

  private static int general(String format, Object[] arguments, StringBuilder out) {
    Object[] printable = new Object[arguments.length];
    for (int i = 0; i < arguments.length; i++) {
      Object redacted = redact(arguments[i]);
      printable[i] =
          redacted instanceof Number || redacted instanceof Boolean || redacted instanceof Character
              ? redacted
              : text(redacted);
    }
    try {
      out.append(String.format(Locale.ROOT, format, printable));
    } catch (IllegalFormatException e) {
      StringJoiner values = new StringJoiner(", ", "[", "]");
      for (Object value : printable) {
        values.add(String.valueOf(value));
      }
      out.append(format).append(" (bad format: ").append(e.getMessage()).append("; arguments: ");
      out.append(values).append(')');
    }
    return placeholders(format);
  }

  private static int placeholders(String format) {
    int count = 0;
    for (int at = format.indexOf('%'); at >= 0; at = format.indexOf('%', at + 1)) {
      char kind = at + 1 < format.length() ? format.charAt(at + 1) : '%';
      if (kind == '%') {
        at++;
      } else if (kind != 'n') {
        count++;
      }
    }
    return count;
  }

  private static boolean isInteger(Object argument) {
    return argument instanceof Integer
        || argument instanceof Long
        || argument instanceof Short
        || argument instanceof Byte;
  }

  private static String text(Object argument) {
    if (argument instanceof String string) {
      return string;
    }
    try {
      return String.valueOf(redact(argument, 0));
    } catch (RuntimeException e) {
      return "<" + argument.getClass().getName() + " whose toString failed: " + e + ">";
    }
  }

  private static Object redact(Object value, int depth) {
    return switch (value) {
      case null -> "null";
      case byte[] bytes -> "<" + bytes.length + " bytes>";
      case char[] chars -> "<" + chars.length + " chars>";
      case Buffer buffer -> "<buffer of " + buffer.remaining() + ">";
      case PublicKey key -> key;
      case Key key -> "<" + key.getAlgorithm() + " key>";
      case KeyPair pair -> "<" + pair.getPublic().getAlgorithm() + " key pair>";
      case Optional<?> optional when depth < MAX_DEPTH ->
          optional.map(inner -> String.valueOf(redact(inner, depth + 1))).orElse("none");
      case Map<?, ?> map when depth < MAX_DEPTH -> map(map, depth);
      case Collection<?> collection when depth < MAX_DEPTH -> collection(collection, depth);
      case Object array when array.getClass().isArray() && depth < MAX_DEPTH -> array(array, depth);
      case Object container when isContainer(container) -> "<...>";
      default -> value;
    };
  }

  private static boolean isContainer(Object value) {
    return value instanceof Optional
        || value instanceof Map
        || value instanceof Collection
        || value.getClass().isArray();
  }

  private static String map(Map<?, ?> map, int depth) {
    StringJoiner out = new StringJoiner(", ", "{", "}");
    map.forEach((key, value) -> out.add(redact(key, depth + 1) + "=" + redact(value, depth + 1)));
    return out.toString();
  }

  private static String collection(Collection<?> collection, int depth) {
    StringJoiner out = new StringJoiner(", ", "[", "]");
    collection.forEach(element -> out.add(String.valueOf(redact(element, depth + 1))));
    return out.toString();
  }

  private static String array(Object array, int depth) {
    StringJoiner out = new StringJoiner(", ", "[", "]");
    for (int i = 0; i < Array.getLength(array); i++) {
      out.add(String.valueOf(redact(Array.get(array, i), depth + 1)));
    }
    return out.toString();
  }

  private static String stackTrace(Throwable cause) {
    StringWriter text = new StringWriter();
    try {
      cause.printStackTrace(new PrintWriter(text));
    } catch (RuntimeException e) {
      text.append("<stack trace of ").append(cause.getClass().getName()).append(" failed: ");
      text.append(e.getClass().getName()).append('>');
    }
    return text.toString();
  }
}
