package dev.polis.rpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DescriptorProtos.FieldOptions;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import dev.polis.wire.options.Options;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Compares the fields of requests with the largest sizes in the protocol files, so that no handler,
 * log or record gets a larger value. Safe for use by any thread.
 */
final class FieldRules {
  /**
   * The default for a field of a plugin's own protocol: a long sentence. Each field of the project
   * has a rule.
   */
  private static final int UNSTATED_BYTES = 4 << 10;

  private static final int UNSTATED_ITEMS = 64;

  /** The room for fields that only newer nodes know. */
  private static final int UNKNOWN_BYTES = 16 << 10;

  /**
   * The limit of unknown values; each takes some 250 bytes of memory, and two bytes on the wire.
   */
  private static final int UNKNOWN_VALUES = UNSTATED_ITEMS;

  /** The deepest nesting that the protobuf parser accepts. */
  private static final int DEEPEST = 100;

  /** In a tag the type of the value stands behind the number of the field. */
  private static final int TAG_TYPE_BITS = 3;

  /** Messages of {@code google.protobuf} cannot carry our options; the field that holds one can. */
  private static final String FOREIGN = "google.protobuf.";

  /**
   * States the largest size of a field; zero: no rule.
   *
   * @param bytes the bytes of the value, or of each element
   * @param items the number of elements
   */
  record Rule(int bytes, int items) {
    static Rule of(FieldDescriptor field) {
      FieldOptions options = field.getOptions();
      return new Rule(
          options.getExtension(Options.maxBytes), options.getExtension(Options.maxItems));
    }
  }

  private final Map<FieldDescriptor, Rule> known = new ConcurrentHashMap<>();

  /**
   * Returns whether the field needs a limit of bytes; other types are bounded, or their fields are.
   */
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
   * Checks all fields of a request and of its messages before the parser makes objects.
   *
   * @throws RpcException INVALID_ARGUMENT, naming the first field that is too large, its size and
   *     the largest one
   * @throws IOException if the bytes are no message
   */
  void check(byte[] request, Descriptor type) throws IOException {
    new Walk(CodedInputStream.newInstance(request)).message(type, Place.TOP);
  }

  private static Rule rule(FieldDescriptor field) {
    Rule stated = Rule.of(field);
    int bytes = stated.bytes() > 0 ? stated.bytes() : unstatedBytes(field);
    return new Rule(bytes, stated.items() > 0 ? stated.items() : UNSTATED_ITEMS);
  }

  private static int unstatedBytes(FieldDescriptor field) {
    return needsBytes(field) ? UNSTATED_BYTES : Integer.MAX_VALUE;
  }

  /**
   * Names a field in a request; makes the text only for a refused one.
   *
   * @param in the surrounding place; null at the top
   * @param depth the number of surrounding messages
   */
  private record Place(Place in, FieldDescriptor field, int index, int depth) {
    static final Place TOP = new Place(null, null, 0, 0);

    Place of(FieldDescriptor inner, int at) {
      return new Place(this, inner, at, depth + 1);
    }

    /** Returns the prefix of a field's name at this place. */
    String path() {
      return in == null ? "" : name() + (field.isRepeated() ? "[" + index + "]." : ".");
    }

    String name() {
      return in.path() + field.getName();
    }
  }

  /** Reads a request once, from its begin to its end. */
  private final class Walk {
    private final CodedInputStream input;
    private int unknownValues;
    private int unknownBytes;

    Walk(CodedInputStream input) {
      this.input = input;
    }

    void message(Descriptor type, Place place) throws IOException {
      if (place.depth() > DEEPEST) {
        throw new InvalidProtocolBufferException(
            "messages are nested more than %d deep".formatted(DEEPEST));
      }
      Map<FieldDescriptor, Integer> items = new HashMap<>();
      while (!input.isAtEnd()) {
        int start = input.getTotalBytesRead();
        int tag = input.readTag();
        FieldDescriptor field = type.findFieldByNumber(WireFormat.getTagFieldNumber(tag));
        int kind = WireFormat.getTagWireType(tag);
        if (field != null && kind == field.getLiteType().getWireType()) {
          value(field, tag, place, items);
        } else if (field != null
            && field.isPackable()
            && kind == WireFormat.WIRETYPE_LENGTH_DELIMITED) {
          packed(field, place, items);
        } else {
          unknown(tag);
          unknownBytes += input.getTotalBytesRead() - start;
          requireFewUnknown(type, place);
        }
      }
    }

    private void value(
        FieldDescriptor field, int tag, Place place, Map<FieldDescriptor, Integer> items)
        throws IOException {
      Rule rule = known.computeIfAbsent(field, FieldRules::rule);
      Place here = place.of(field, count(field, rule, place, items));
      if (WireFormat.getTagWireType(tag) != WireFormat.WIRETYPE_LENGTH_DELIMITED) {
        input.skipField(tag);
        return;
      }
      int size = input.readRawVarint32();
      if (size > rule.bytes()) {
        throw RpcException.invalid(
            "%s has %d bytes; it takes at most %d. This request changed nothing; shorten the value"
                .formatted(
                    field.isRepeated() ? here.name() + "[" + here.index() + "]" : here.name(),
                    size,
                    rule.bytes()));
      }
      if (field.getJavaType() != FieldDescriptor.JavaType.MESSAGE || isForeign(field)) {
        input.skipRawBytes(size);
        return;
      }
      int outer = input.pushLimit(size);
      message(field.getMessageType(), here);
      input.popLimit(outer);
    }

    private void packed(FieldDescriptor field, Place place, Map<FieldDescriptor, Integer> items)
        throws IOException {
      Rule rule = known.computeIfAbsent(field, FieldRules::rule);
      int tag = field.getNumber() << TAG_TYPE_BITS | field.getLiteType().getWireType();
      int outer = input.pushLimit(input.readRawVarint32());
      while (!input.isAtEnd()) {
        input.skipField(tag);
        count(field, rule, place, items);
      }
      input.popLimit(outer);
    }

    /**
     * Counts an element and returns its index. The parser would join a message that comes twice.
     */
    private int count(
        FieldDescriptor field, Rule rule, Place place, Map<FieldDescriptor, Integer> items) {
      if (!field.isRepeated() && field.getJavaType() != FieldDescriptor.JavaType.MESSAGE) {
        return 0;
      }
      int number = items.merge(field, 1, Integer::sum);
      int most = field.isRepeated() ? rule.items() : 1;
      if (number > most) {
        throw RpcException.invalid(
            "%s has %d elements or more; it takes at most %d. This request changed nothing; split it into several"
                .formatted(place.of(field, 0).name(), number, most));
      }
      return number - 1;
    }

    /** Skips an unknown field with all its content. */
    private void unknown(int first) throws IOException {
      int open = 0;
      int tag = first;
      while (true) {
        switch (WireFormat.getTagWireType(tag)) {
          case WireFormat.WIRETYPE_START_GROUP -> {
            open++;
            unknownValues++;
          }
          case WireFormat.WIRETYPE_END_GROUP -> open--;
          default -> {
            input.skipField(tag);
            unknownValues++;
          }
        }
        if (open <= 0 || unknownValues > UNKNOWN_VALUES) {
          break;
        }
        tag = input.readTag();
        if (tag == 0) {
          throw new InvalidProtocolBufferException("a group does not end");
        }
      }
      if (open < 0) {
        throw new InvalidProtocolBufferException("a group ends that did not begin");
      }
    }

    private void requireFewUnknown(Descriptor type, Place place) {
      if (unknownBytes > UNKNOWN_BYTES || unknownValues > UNKNOWN_VALUES) {
        throw RpcException.invalid(
            "%s%s has %d bytes in %d values or more that this node's version does not know; a request takes at most %d in %d. This request changed nothing; update the node, or send less"
                .formatted(
                    place.path(),
                    type.getName(),
                    unknownBytes,
                    unknownValues,
                    UNKNOWN_BYTES,
                    UNKNOWN_VALUES));
      }
    }
  }
}
