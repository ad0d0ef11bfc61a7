package dev.polis.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Writes to a server that ends, and says whether it took the write. */
class EndingEtcdTest {

  private static final byte DATA = 0;
  private static final byte SETTINGS = 4;
  private static final byte GOAWAY = 7;
  private static final int PREFACE = 24;
  private static final int NONE = 0;

  /** The first stream of gRPC's client; the stream before is of a client that began with HTTP/1. */
  private static final int FIRST_STREAM = 3;

  /** The client tries a write that was not taken again for this long. */
  private static final Duration TRIED = Duration.ofSeconds(2);

  private static final Duration LONG = Duration.ofSeconds(30);

  /** Reads one request, answers with the last stream that it takes, and ends. */
  private static void serve(ServerSocket listener, int taken) throws IOException {
    try (listener;
        Socket connection = listener.accept();
        DataInputStream frames = new DataInputStream(connection.getInputStream())) {
      frames.skipNBytes(PREFACE);
      connection.getOutputStream().write(frame(SETTINGS, new byte[0]));
      while (readFrame(frames) != DATA) {
        // The request's message is in the first frame of data.
      }
      listener.close();
      byte[] payload = ByteBuffer.allocate(2 * Integer.BYTES).putInt(taken).putInt(0).array();
      connection.getOutputStream().write(frame(GOAWAY, payload));
    }
  }

  private static byte[] frame(byte type, byte[] payload) {
    return ByteBuffer.allocate(9 + payload.length)
        .putInt(payload.length << 8 | type)
        .put((byte) 0)
        .putInt(0)
        .put(payload)
        .array();
  }

  private static byte readFrame(DataInputStream frames) throws IOException {
    int head = frames.readInt();
    frames.skipNBytes(1 + Integer.BYTES);
    frames.skipNBytes(head >>> 8);
    return (byte) head;
  }

  private static EtcdException write(int taken, Duration within) throws Exception {
    ServerSocket listener = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
    FutureTask<Void> served =
        new FutureTask<>(
            () -> {
              serve(listener, taken);
              return null;
            });
    Thread.ofVirtual().start(served);
    EtcdAccess access = EtcdAccess.plaintext("127.0.0.1:" + listener.getLocalPort());
    try (EtcdClient client = EtcdClient.connect(access)) {
      EtcdException refused =
          assertThrows(
              EtcdException.class, () -> client.kv().within(within).put("/key", new byte[] {1}));
      served.get(LONG.toSeconds(), TimeUnit.SECONDS);
      return refused;
    }
  }

  @Test
  @DisplayName("a write that an ending etcd did not take had no effect, and is tried again")
  void notTaken() throws Exception {
    assertEquals(EtcdUnavailableException.class, write(NONE, TRIED).getClass());
  }

  @Test
  @DisplayName("a write that an ending etcd may have taken has an unknown outcome")
  void perhapsTaken() throws Exception {
    assertEquals(EtcdOutcomeUnknownException.class, write(FIRST_STREAM, LONG).getClass());
  }
}
