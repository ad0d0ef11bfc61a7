package dev.polis.faults.it;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** Makes messages: valid ones with interesting values, and damaged forms of them. */
final class FuzzMessages {

  /** Shared, because making one for each call would cost most of the client's time. */
  private static final byte[] TOO_LARGE = new byte[(4 << 20) + 1];

  private static final byte[] ZEROS = new byte[64 << 10];

  private static final int MAX_REPEAT = 4;
  private static final int MAX_DEPTH = 6;

  /** Deeper than a parser that recurses for each level should go. */
  private static final int ABYSS = 20_000;

  private static final List<byte[]> DEEP_TEXTS =
      List.of(abyss("("), abyss("!"), abyss("["), abyss("a."), abyss("-"));

  private static final byte[][] NOT_UTF8 = {
    {(byte) 0xff},
    {(byte) 0xc0, (byte) 0x80},
    {'a', (byte) 0xe2, (byte) 0x28},
    {(byte) 0xed, (byte) 0xa0, (byte) 0x80},
    {(byte) 0xf4, (byte) 0x90, (byte) 0x80, (byte) 0x80},
    {'x', (byte) 0x80, 'y'},
  };

  private static final long[] NUMBERS = {
    0,
    1,
    -1,
    2,
    3,
    7,
    64,
    127,
    128,
    255,
    8192,
    65_536,
    Integer.MAX_VALUE,
    Integer.MIN_VALUE,
    1L << 32,
    Long.MAX_VALUE,
    Long.MIN_VALUE
  };

  private final RandomGenerator random;
  private final List<FuzzMethod> methods;
  private final List<byte[]> strings = new ArrayList<>();
  private final List<byte[]> names = new ArrayList<>();
  private final List<byte[]> blobs = new ArrayList<>();

  /**
   * Creates the maker.
   *
   * @param methods the methods whose messages may be sent to the wrong method
   * @param names strings with a meaning for the node, such as its id @param keys bytes with a
   *     meaning for it, such as its public key
   */
  FuzzMessages(
      RandomGenerator random, List<FuzzMethod> methods, List<String> names, List<byte[]> keys) {
    this.random = random;
    this.methods = methods;
    this.blobs.addAll(keys);
    names.forEach(name -> this.names.add(name.getBytes(StandardCharsets.UTF_8)));
    List<String> words =
        List.of(
            "",
            "a",
            ".",
            "..",
            "/",
            "../../etc/passwd",
            "root",
            "root.curator",
            "root.nobody",
            "%s%n%d%x",
            "\0",
            "\n\r\t",
            "\u202e\ud83d\ude00\u0301",
            "metropolis-00000000000000000000000000000000",
            "127.0.0.1",
            "::1",
            "999.1.1.1",
            "10.0.0.0/8",
            "node-role.kubernetes.io/x",
            "label",
            "labels_to_synchronize",
            "kubernetes_config.node_labels_to_synchronize",
            "cluster_domain",
            "a.b.c.d",
            "true",
            "node.id == \"x\"",
            "node.state == 1",
            "node.labels.exists(l, l == \"a\")",
            "[1,2].all(x, [1,2].all(y, x == y))",
            "\"a\".matches(\"(a+)+$\")",
            "1 / 0 == 1",
            "node.nothing",
            "(",
            "has(node.roles.consensus_member)",
            "x".repeat(64),
            "x".repeat(300),
            "\u00fc".repeat(2000));
    words.forEach(word -> strings.add(word.getBytes(StandardCharsets.UTF_8)));
    for (int length : new int[] {0, 1, 16, 31, 32, 33, 64, 1000}) {
      blobs.add(new byte[length]);
    }
  }

  /** Makes the content of a call: one message, unless its kind requires another number. */
  List<byte[]> make(FuzzContent content, Descriptor type) {
    return switch (content) {
      case NO_MESSAGE -> List.of();
      case SEVERAL_MESSAGES ->
          Stream.generate(() -> message(type, strings)).limit(2 + random.nextInt(3)).toList();
      default -> List.of(one(content, type));
    };
  }

  private byte[] one(FuzzContent content, Descriptor type) {
    return switch (content) {
      case VALID -> message(type, strings);
      case MUTATED -> mutated(message(type, strings));
      case NOT_UTF8 -> message(type, Arrays.asList(NOT_UTF8));
      case RANDOM_BYTES -> bytes(random.nextInt(512));
      case TRUNCATED -> truncated(message(type, strings));
      case EMPTY -> new byte[0];
      case FOREIGN_TYPE -> message(methods.get(random.nextInt(methods.size())).request(), strings);
      case DEEP_TEXT -> message(type, DEEP_TEXTS);
      case DEEP_MESSAGE -> nested();
      case LONG_TEXT -> message(type, List.of(new byte[1 << random.nextInt(19)]));
      case ZEROS -> ZEROS;
      case TOO_LARGE -> TOO_LARGE;
      case NO_MESSAGE, SEVERAL_MESSAGES ->
          throw new AssertionError(content + " is not one message");
    };
  }

  private static byte[] abyss(String step) {
    return step.repeat(ABYSS).getBytes(StandardCharsets.US_ASCII);
  }

  /** Returns nested messages, under a field number that most messages have. */
  private byte[] nested() {
    byte[] inner = new byte[0];
    int field = 1 + random.nextInt(3);
    for (int depth = 0; depth < 200; depth++) {
      byte[] content = inner;
      inner = written(out -> out.writeByteArray(field, content));
    }
    return inner;
  }

  private byte[] bytes(int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  private byte[] truncated(byte[] message) {
    return message.length == 0 ? message : Arrays.copyOf(message, random.nextInt(message.length));
  }

  /** Changes a few bytes, or writes a wrong length. */
  private byte[] mutated(byte[] message) {
    if (message.length == 0) {
      return bytes(1 + random.nextInt(8));
    }
    byte[] changed = message.clone();
    int changes = 1 + random.nextInt(4);
    for (int change = 0; change < changes; change++) {
      int at = random.nextInt(changed.length);
      changed[at] =
          switch (random.nextInt(4)) {
            case 0 -> (byte) (changed[at] ^ 1 << random.nextInt(8));
            case 1 -> (byte) random.nextInt();
            case 2 -> (byte) 0xff;
            default -> (byte) (changed[at] + 1);
          };
    }
    return random.nextInt(4) == 0 ? concat(changed, message) : changed;
  }

  private static byte[] concat(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  private byte[] message(Descriptor type, List<byte[]> texts) {
    return message(type, texts, 0);
  }

  private byte[] message(Descriptor type, List<byte[]> texts, int depth) {
    return written(
        out -> {
          for (FieldDescriptor field : type.getFields()) {
            int times =
                random.nextInt(4) == 0 ? 0 : field.isRepeated() ? random.nextInt(MAX_REPEAT) : 1;
            for (int time = 0; time < times; time++) {
              write(out, field, texts, depth);
            }
          }
        });
  }

  private void write(CodedOutputStream out, FieldDescriptor field, List<byte[]> texts, int depth)
      throws IOException {
    int number = field.getNumber();
    switch (field.getType()) {
      case DOUBLE -> out.writeDouble(number, random.nextGaussian());
      case FLOAT -> out.writeFloat(number, (float) random.nextGaussian());
      case INT64, UINT64 -> out.writeUInt64(number, number());
      case INT32 -> out.writeInt32(number, (int) number());
      case UINT32 -> out.writeUInt32(number, (int) number());
      case SINT32 -> out.writeSInt32(number, (int) number());
      case SINT64 -> out.writeSInt64(number, number());
      case FIXED64, SFIXED64 -> out.writeFixed64(number, number());
      case FIXED32, SFIXED32 -> out.writeFixed32(number, (int) number());
      case BOOL -> out.writeBool(number, random.nextBoolean());
      case ENUM -> out.writeEnum(number, constant(field.getEnumType()));
      case STRING -> out.writeByteArray(number, text(texts));
      case BYTES -> out.writeByteArray(number, blobs.get(random.nextInt(blobs.size())));
      case MESSAGE ->
          out.writeByteArray(
              number,
              depth == MAX_DEPTH ? new byte[0] : message(field.getMessageType(), texts, depth + 1));
      case GROUP -> throw new AssertionError("the wire format has no groups: " + field);
    }
  }

  /** Returns mostly random text, and often a known name, without which calls would fail early. */
  private byte[] text(List<byte[]> texts) {
    List<byte[]> from = texts == strings && random.nextInt(4) == 0 ? names : texts;
    return from.get(random.nextInt(from.size()));
  }

  private long number() {
    return random.nextInt(4) == 0 ? random.nextLong() : NUMBERS[random.nextInt(NUMBERS.length)];
  }

  private int constant(EnumDescriptor type) {
    return random.nextInt(8) == 0
        ? random.nextInt()
        : type.getValues().get(random.nextInt(type.getValues().size())).getNumber();
  }

  /** Writes to a stream that cannot fail. */
  @FunctionalInterface
  private interface Writing {
    void to(CodedOutputStream out) throws IOException;
  }

  private static byte[] written(Writing writing) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      writing.to(out);
      out.flush();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }
}
