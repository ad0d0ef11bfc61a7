package dev.polis.rpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.FieldOptions;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import dev.polis.wire.options.Options;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Compares the fields of requests with the largest sizes that the protocol files state at them, so
 * that no handler, log or record gets a value of a size that nobody thought of. Safe for use by any
 * thread.
 */
final class FieldRules {
  /**
   * A field of a plugin's own protocol without a rule takes a long sentence; no field of ours is
   * without one.
   */
  private static final int UNSTATED_BYTES = 4 << 10;

  private static final int UNSTATED_ITEMS = 64;

  /** Newer nodes may know some fields more than this one, each as small as those of today. */
  private static final int UNKNOWN_BYTES = 16 << 10;

  /** Messages of {@code google.protobuf} cannot carry our options; the field that holds one can. */
  private static final String FOREIGN = "google.protobuf.";

  /**
   * States the largest size of a field; zero is no rule.
   *
   * @param bytes of the value, or of each element
   * @param items elements
   */
  record Rule(int bytes, int items) {
    static Rule of(FieldDescriptor field) {
      FieldOptions options = field.getOptions();
      return new Rule(
          options.getExtension(Options.maxBytes), options.getExtension(Options.maxItems));
    }
  }

  private final Map<FieldDescriptor, Rule> known = new ConcurrentHashMap<>();

  /** Returns whether the value is of bounded size by its type, or by the fields that it has. */
  static boolean needsBytes(FieldDescriptor field) {
    return switch (field.getJavaType()) {
      case STRING, BYTE_STRING -> true;
      case MESSAGE -> isForeign(field);
      default -> false;
    };
  }

  private static boolean isForeign(FieldDescriptor field) {
    return field.getMessageType().getFullName().startsWith(FOREIGN);
  }

  /**
   * Checks all fields of a request, and of the messages in it.
   *
   * @throws RpcException INVALID_ARGUMENT, naming the first field that is too large, its size and
   *     the largest one
   */
  void check(Message request) {
    check(request, "");
  }

  private void check(Message message, String path) {
    int unknown = message.getUnknownFields().getSerializedSize();
    if (unknown > UNKNOWN_BYTES) {
      throw RpcException.invalid(
          "%s%s has %d bytes in fields that this node's version does not know; it takes at most %d. This request changed nothing; update the node, or send less"
              .formatted(path, message.getDescriptorForType().getName(), unknown, UNKNOWN_BYTES));
    }
    message.getAllFields().forEach((field, value) -> check(field, value, path));
  }

  private void check(FieldDescriptor field, Object value, String path) {
    Rule rule = known.computeIfAbsent(field, FieldRules::rule);
    String name = path + field.getName();
    if (!(value instanceof List<?> items)) {
      checkValue(field, value, rule, name);
      return;
    }
    if (items.size() > rule.items()) {
      throw RpcException.invalid(
          "%s has %d elements; it takes at most %d. This request changed nothing; split it into several"
              .formatted(name, items.size(), rule.items()));
    }
    for (int i = 0; i < items.size(); i++) {
      checkValue(field, items.get(i), rule, name + "[" + i + "]");
    }
  }

  private static Rule rule(FieldDescriptor field) {
    Rule stated = Rule.of(field);
    int bytes = stated.bytes() > 0 ? stated.bytes() : unstatedBytes(field);
    return new Rule(bytes, stated.items() > 0 ? stated.items() : UNSTATED_ITEMS);
  }

  private static int unstatedBytes(FieldDescriptor field) {
    return needsBytes(field) ? UNSTATED_BYTES : Integer.MAX_VALUE;
  }

  private void checkValue(FieldDescriptor field, Object value, Rule rule, String name) {
    if (value instanceof Message inner && !isForeign(field)) {
      check(inner, name + ".");
    }
    int size = bytesOf(value, rule.bytes());
    if (size > rule.bytes()) {
      throw RpcException.invalid(
          "%s has %d bytes; it takes at most %d. This request changed nothing; shorten the value"
              .formatted(name, size, rule.bytes()));
    }
  }

  private static int bytesOf(Object value, int limit) {
    return switch (value) {
      case String text -> bytesOf(text, limit);
      case ByteString bytes -> bytes.size();
      case Message message -> limit == Integer.MAX_VALUE ? 0 : message.getSerializedSize();
      default -> 0;
    };
  }

  /** Returns the size in UTF-8, in which a character has at most three bytes; zero if it fits. */
  private static int bytesOf(String text, int limit) {
    return text.length() <= limit / 3 ? 0 : text.getBytes(StandardCharsets.UTF_8).length;
  }
}
