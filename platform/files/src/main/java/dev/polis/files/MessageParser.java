package dev.polis.files;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;

/**
 * Parses the content of a file as a message. This is a separate class, so that code without
 * messages (the launcher) needs no protobuf.
 */
final class MessageParser {

  private MessageParser() {}

  static <M extends MessageLite> M parse(Parser<M> parser, byte[] bytes) {
    if (bytes.length == 0) {
      throw new IllegalArgumentException("it is empty");
    }
    try {
      return parser.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(
          "its %d bytes are not what this program writes there".formatted(bytes.length), e);
    }
  }
}
