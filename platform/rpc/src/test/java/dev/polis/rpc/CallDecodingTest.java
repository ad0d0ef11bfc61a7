package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.sun.management.ThreadMXBean;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.RegisterNodeRequest;
import io.grpc.Metadata;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.ZipException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Decodes requests that are refused before a message is made. */
class CallDecodingTest {
  private static final Metadata.Key<String> TIMEOUT =
      Metadata.Key.of("grpc-timeout", Metadata.ASCII_STRING_MARSHALLER);

  private static final int MESSAGE_BYTES = RpcSettings.Limits.DEFAULT.messageBytes();

  private final CallMethod method = CallMethod.of(ManagementGrpc.getApproveNodeMethod());

  @Test
  @DisplayName("bytes that are no message are reported as the caller's fault")
  void bytesThatAreNoMessage() {
    assertEquals(Status.Code.INVALID_ARGUMENT, malformed(new byte[] {0, 0}).code());
  }

  @Test
  @DisplayName("bytes that cannot be decompressed are reported as the caller's fault")
  void garbledCompression() {
    InputStream garbled = failing(new ZipException("Not in GZIP format"));
    CallMethod.Malformed malformed = malformed(garbled);
    assertEquals(Status.Code.INVALID_ARGUMENT, malformed.code());
  }

  @Test
  @DisplayName("a message that is too large after decompression is refused as too large")
  void bomb() {
    InputStream bomb =
        new InputStream() {
          @Override
          public int read() {
            throw Status.RESOURCE_EXHAUSTED.withDescription("too large").asRuntimeException();
          }
        };
    CallMethod.Malformed malformed = malformed(bomb);
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, malformed.code());
    assertEquals("too large", malformed.reason());
  }

  @ParameterizedTest
  @Tag("attack")
  @ValueSource(strings = {"2324", "2a00", "22020a00"})
  @DisplayName("a message of very many small parts is refused before objects are made of them")
  void manySmallParts(String part) {
    byte[] repeated = HexFormat.of().parseHex(part.repeat(MESSAGE_BYTES / (part.length() / 2)));
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    for (CallMethod each :
        List.of(
            CallMethod.of(CuratorGrpc.getRegisterNodeMethod()),
            CallMethod.of(CuratorLocalGrpc.getGetCurrentLeaderMethod()))) {
      long before = threads.getCurrentThreadAllocatedBytes();
      Object read = each.descriptor().parseRequest(new ByteArrayInputStream(repeated));
      long taken = threads.getCurrentThreadAllocatedBytes() - before;
      CallMethod.Malformed malformed =
          assertInstanceOf(CallMethod.Malformed.class, read, each.name());
      assertEquals(Status.Code.INVALID_ARGUMENT, malformed.code(), malformed.reason());
      assertTrue(
          taken < 4 * MESSAGE_BYTES, () -> each.name() + " took " + taken + " bytes for " + part);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("unknown fields are bounded together, over any number of messages")
  void unknownFieldsOfManyMessages() {
    // There are 250 labels, each with 60 unknown fields that are empty groups.
    CallMethod.Malformed malformed = labels(("0a78" + "2324".repeat(60)).repeat(250));
    assertTrue(malformed.reason().startsWith("labels.pairs[1]."), malformed.reason());
  }

  @Test
  @Tag("attack")
  @DisplayName("elements beyond those of a field are refused before objects are made of them")
  void manyElements() {
    CallMethod.Malformed malformed = labels("0a00".repeat(257));
    assertTrue(malformed.reason().startsWith("labels.pairs has 257 "), malformed.reason());
  }

  private static CallMethod.Malformed labels(String pairs) {
    RegisterNodeRequest request =
        RegisterNodeRequest.newBuilder()
            .setUnknownFields(
                UnknownFieldSet.newBuilder()
                    .addField(
                        RegisterNodeRequest.LABELS_FIELD_NUMBER,
                        UnknownFieldSet.Field.newBuilder()
                            .addLengthDelimited(ByteString.copyFrom(HexFormat.of().parseHex(pairs)))
                            .build())
                    .build())
            .build();
    Object read =
        CallMethod.of(CuratorGrpc.getRegisterNodeMethod())
            .descriptor()
            .parseRequest(request.toByteString().newInput());
    return assertInstanceOf(CallMethod.Malformed.class, read);
  }

  @Test
  @DisplayName("groups that end without a beginning, or never end, are refused as no message")
  void brokenGroups() {
    for (String bytes : List.of("24", "2323", "232323")) {
      CallMethod.Malformed malformed = malformed(HexFormat.of().parseHex(bytes));
      assertEquals(Status.Code.INVALID_ARGUMENT, malformed.code(), bytes);
    }
  }

  private CallMethod.Malformed malformed(byte[] bytes) {
    return malformed(new ByteArrayInputStream(bytes));
  }

  private CallMethod.Malformed malformed(InputStream bytes) {
    return assertInstanceOf(
        CallMethod.Malformed.class, method.descriptor().parseRequest(bytes), "a readable message");
  }

  private static InputStream failing(IOException failure) {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        throw failure;
      }
    };
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "abc", "100", "10x", "99999999999S", "S", "1.5S", " 1S"})
  @DisplayName("an invalid time is refused with the given value, and never reaches gRPC")
  void unreadableTimeout(String timeout) {
    Metadata headers = arrived(timeout);
    assertFalse(headers.containsKey(TIMEOUT));
    RpcException refused =
        assertThrows(RpcException.class, () -> CallTimeout.requireReadable(headers));
    assertEquals(Status.Code.INVALID_ARGUMENT, refused.status().getCode());
    assertTrue(refused.getMessage().contains("'" + timeout + "'"), refused.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"1S", "0n", "-1S", "12345678H", "5m", "5M", "5u"})
  @DisplayName("a time that gRPC can read is left to gRPC")
  void readableTimeout(String timeout) {
    Metadata headers = arrived(timeout);
    assertEquals(timeout, headers.get(TIMEOUT));
    assertDoesNotThrow(() -> CallTimeout.requireReadable(headers));
  }

  private static Metadata arrived(String timeout) {
    Metadata headers = new Metadata();
    headers.put(TIMEOUT, timeout);
    new CallTimeout().newServerStreamTracer("x/y", headers);
    return headers;
  }
}
