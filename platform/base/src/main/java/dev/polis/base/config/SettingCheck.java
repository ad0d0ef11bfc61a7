package dev.polis.base.config;

import java.net.InetAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * Checks the values of one configuration. Each check returns the value, typed, or throws a {@link
 * SettingException} that names the key, the value and the accepted values. Immutable.
 */
public final class SettingCheck {

  private static final int MAX_PORT = 65_535;

  private final String pid;

  private SettingCheck(String pid) {
    this.pid = pid;
  }

  /**
   * Returns the checks for one configuration.
   *
   * @param pid its persistent identity, such as {@code dev.polis.consensus}; refusals name it
   */
  public static SettingCheck of(String pid) {
    return new SettingCheck(Objects.requireNonNull(pid));
  }

  /** Checks that a number is within limits, both included. */
  public long range(String key, long value, long least, long most) {
    if (value < least || value > most) {
      throw refuse(key, value, "which is not within " + least + " to " + most);
    }
    return value;
  }

  /** Checks that a number is within limits, both included. */
  public int range(String key, int value, int least, int most) {
    return Math.toIntExact(range(key, (long) value, least, most));
  }

  /** Checks a number of seconds within two limits, both included. */
  public Duration seconds(String key, long value, Duration least, Duration most) {
    return Duration.ofSeconds(range(key, value, least.toSeconds(), most.toSeconds()));
  }

  /** Checks a port number. */
  public int port(String key, int value) {
    return range(key, value, 1, MAX_PORT);
  }

  /** Checks that a text is not blank. */
  public String present(String key, String value) {
    if (value.isBlank()) {
      throw refuse(key, value, "but must be given");
    }
    return value;
  }

  /** Checks that a word is a known one. */
  public String oneOf(String key, String value, Collection<String> known) {
    if (!known.contains(value)) {
      throw refuse(key, value, "which is not known" + DidYouMean.among(value, known));
    }
    return value;
  }

  /**
   * Returns the constant that a word names: {@code authenticated-encrypted} is {@code
   * AUTHENTICATED_ENCRYPTED}; upper case and underscores are accepted too.
   */
  public <E extends Enum<E>> E constant(String key, String value, Class<E> type) {
    List<String> known = Arrays.stream(type.getEnumConstants()).map(SettingCheck::word).toList();
    String word = value.toLowerCase(Locale.ROOT).replace('_', '-');
    return type.getEnumConstants()[known.indexOf(oneOf(key, word, known))];
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Parses an IP address; refuses a host name, so that no name service is asked. */
  public InetAddress address(String key, String value) {
    try {
      return InetAddress.ofLiteral(value);
    } catch (IllegalArgumentException notAnAddress) {
      throw new SettingException(
          pid,
          key,
          value,
          "which is not an IP address; write one such as 192.0.2.7 or 2001:db8::7",
          notAnAddress);
    }
  }

  /**
   * Returns the refusal of a value that only its organ can judge.
   *
   * @param why a relative clause that ends with what to do, such as {@code "which is the
   *     client.port too; give each a port of its own"}
   */
  public SettingException refuse(String key, Object value, String why) {
    return new SettingException(pid, key, value, why);
  }
}
