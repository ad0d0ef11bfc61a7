package dev.polis.wire;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Finds what a message holds beyond its description. A parser keeps such fields silently, so code
 * that must not ignore a field asks here.
 */
public final class UnknownFields {

  private UnknownFields() {}

  /**
   * Returns one entry for each unknown field of the message and the messages in it, such as {@code
   * interface[0].field number 99 of Interface}.
   */
  public static List<String> of(Message message) {
    List<String> found = new ArrayList<>();
    collect(message, "", found);
    return found;
  }

  private static void collect(Message message, String path, List<String> found) {
    for (int number : message.getUnknownFields().asMap().keySet()) {
      found.add(
          "%sfield number %d of %s"
              .formatted(path, number, message.getDescriptorForType().getName()));
    }
    for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
      if (field.getKey().getJavaType() != FieldDescriptor.JavaType.MESSAGE) {
        continue;
      }
      String name = path + field.getKey().getName();
      if (field.getValue() instanceof List<?> values) {
        for (int i = 0; i < values.size(); i++) {
          collect((Message) values.get(i), name + "[" + i + "].", found);
        }
      } else {
        collect((Message) field.getValue(), name + ".", found);
      }
    }
  }
}
