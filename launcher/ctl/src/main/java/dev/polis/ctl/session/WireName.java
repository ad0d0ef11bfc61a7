package dev.polis.ctl.session;

import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.ProtocolMessageEnum;
import java.util.List;
import java.util.Locale;

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
