package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.wire.api.ManagementGrpc;
import io.grpc.Metadata;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.ZipException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is wrong before a message is one. */
class CallDecodingTest {
  private static final Metadata.Key<String> TIMEOUT =
      Metadata.Key.of("grpc-timeout", Metadata.ASCII_STRING_MARSHALLER);

  private final CallMethod method = CallMethod.of(ManagementGrpc.getApproveNodeMethod());

  @Test
  @DisplayName("bytes that are no message are the caller's fault")
  void bytesThatAreNoMessage() {
    assertEquals(Status.Code.INVALID_ARGUMENT, malformed(new byte[] {0, 0}).code());
  }

  @Test
  @DisplayName("bytes that cannot be decompressed are the caller's fault")
  void garbledCompression() {
    InputStream garbled = failing(new ZipException("Not in GZIP format"));
    CallMethod.Malformed malformed = malformed(garbled);
    assertEquals(Status.Code.INVALID_ARGUMENT, malformed.code());
  }

  @Test
  @DisplayName("what is too large only when it is decompressed is refused as too large")
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
  @DisplayName("a time that is none is refused with what was given, and never seen by gRPC")
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
  @DisplayName("a time that gRPC reads is left to it")
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
