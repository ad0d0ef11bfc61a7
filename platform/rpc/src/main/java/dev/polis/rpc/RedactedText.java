package dev.polis.rpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MessageOrBuilder;
import dev.polis.logtree.LogFormat;
import dev.polis.wire.options.Options;
import java.util.List;
import java.util.Map;

/**
 * Prints messages for logs: short, on one line, and without the fields that are marked as secret.
 * It omits unknown fields, since they may hold a secret.
 */
public final class RedactedText {
  /**
   * The longest text in characters; a log line has 1024 bytes, and the message is one of several
   * parts.
   */
  static final int LIMIT = 512;

  /** The deepest nesting that is printed; honest messages are less deep. */
  private static final int DEPTH = 12;

  /** The number of printed elements; so many identify a list. */
  private static final int ELEMENTS = 8;

  private final StringBuilder text = new StringBuilder();
  private final int limit;

  private RedactedText(int limit) {
    this.limit = limit;
  }

  /** Returns the text of a message, at most about 512 characters long. */
  public static String of(MessageOrBuilder message) {
    return of(message, LIMIT);
  }

  /** Returns the text of a message, cut after {@code limit} characters. */
  public static String of(MessageOrBuilder message, int limit) {
    RedactedText printer = new RedactedText(limit);
    printer.message(message, 0);
    return printer.text.length() <= limit
        ? printer.text.toString()
        : printer.text.substring(0, limit) + "...";
  }

  private boolean full() {
    return text.length() > limit;
  }

  private void message(MessageOrBuilder message, int depth) {
    if (depth > DEPTH) {
      text.append("{...}");
      return;
    }
    text.append('{');
    String separator = "";
    for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
      if (full()) {
        break;
      }
      text.append(separator).append(field.getKey().getName()).append(": ");
      field(field.getKey(), field.getValue(), depth);
      separator = ", ";
    }
    text.append('}');
  }

  private void field(FieldDescriptor field, Object value, int depth) {
    boolean secret = field.getOptions().getExtension(Options.sensitive);
    if (!field.isRepeated()) {
      single(field, value, secret, depth);
      return;
    }
    List<?> elements = (List<?>) value;
    text.append('[');
    for (int i = 0; i < elements.size() && !full(); i++) {
      if (i == ELEMENTS) {
        text.append(", ... ").append(elements.size() - ELEMENTS).append(" more");
        break;
      }
      text.append(i == 0 ? "" : ", ");
      single(field, elements.get(i), secret, depth);
    }
    text.append(']');
  }

  private void single(FieldDescriptor field, Object value, boolean secret, int depth) {
    if (secret) {
      text.append(secret(value));
      return;
    }
    switch (value) {
      case MessageOrBuilder message -> message(message, depth + 1);
      case ByteString bytes -> text.append('<').append(bytes.size()).append(" bytes>");
      case EnumValueDescriptor constant -> text.append(constant.getName());
      case String string -> quoted(string);
      default -> text.append(value);
    }
  }

  private static String secret(Object value) {
    return switch (value) {
      case ByteString bytes -> "<secret " + bytes.size() + " bytes>";
      case String string -> "<secret " + string.length() + " characters>";
      default -> "<secret>";
    };
  }

  /**
   * Appends a string without line breaks and other control characters, which could forge log
   * entries.
   */
  private void quoted(String string) {
    text.append('"');
    int end = Math.min(string.length(), Math.max(0, limit - text.length()) + 1);
    string
        .codePoints()
        .limit(end)
        .forEach(c -> text.appendCodePoint(LogFormat.isPrintable(c) && c != '"' ? c : '?'));
    text.append('"');
  }
}
