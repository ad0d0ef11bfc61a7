package dev.polis.ctl.session;

import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.ProtocolMessageEnum;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Shortens the names of the wire format for screens: {@code HEALTH_HEALTHY} is shown as HEALTHY.
 */
public final class WireName {

  private static final String UNRECOGNIZED = "UNRECOGNIZED";

  private WireName() {}

  /**
   * Returns the name of a value without the prefix that all values of its enum share.
   *
   * @param value a value; one that this program does not know is shown as UNRECOGNIZED
   */
  public static String shortened(ProtocolMessageEnum value) {
    if (((Enum<?>) value).name().equals(UNRECOGNIZED)) {
      return UNRECOGNIZED;
    }
    return value
        .getValueDescriptor()
        .getName()
        .substring(prefix(value.getDescriptorForType().getValues()).length());
  }

  /** Finds the value of an enum that a person names, in any case and with hyphens. */
  public static <E extends Enum<E>> Optional<E> find(Class<E> type, String prefix, String name) {
    String wanted = prefix + name.toUpperCase(Locale.ROOT).replace('-', '_');
    return Arrays.stream(type.getEnumConstants())
        .filter(each -> each.name().equals(wanted) && !each.name().endsWith("_INVALID"))
        .findFirst();
  }

  /** Returns the same name as words in lower case. */
  public static String words(ProtocolMessageEnum value) {
    return words(shortened(value));
  }

  static String words(String constant) {
    return constant.toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static String prefix(List<EnumValueDescriptor> values) {
    String first = values.getFirst().getName();
    int length = first.length();
    for (EnumValueDescriptor value : values) {
      while (!value.getName().startsWith(first.substring(0, length))) {
        length--;
      }
    }
    return first.substring(0, first.lastIndexOf('_', length - 1) + 1);
  }
}
