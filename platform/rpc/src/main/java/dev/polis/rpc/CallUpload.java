package dev.polis.rpc;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.Function;

/**
 * Makes one stream of bytes of the parts that a caller sends: gRPC delivers the parts here, and
 * another thread reads {@link #bytes}. A caller that sends faster than they are read waits.
 *
 * @param <Q> the message that holds a part
 */
public final class CallUpload<Q> implements StreamObserver<Q> {

  private final Function<Q, ByteString> part;
  private final Bytes bytes = new Bytes();

  /**
   * Makes an upload without bytes.
   *
   * @param part returns the bytes of a message
   */
  public CallUpload(Function<Q, ByteString> part) {
    this.part = part;
  }

  /**
   * Returns the bytes that the caller sends. The reader closes it; bytes that come later are
   * dropped.
   */
  public InputStream bytes() {
    return bytes;
  }

  @Override
  public void onNext(Q message) {
    bytes.put(part.apply(message));
  }

  @Override
  public void onError(Throwable broken) {
    bytes.fail(new IOException("the caller broke off in the middle", broken));
  }

  @Override
  public void onCompleted() {
    bytes.end();
  }

  /** Holds one part until it is read. */
  private static final class Bytes extends InputStream {
    // Guarded by this.
    private ByteString held = ByteString.EMPTY;
    private int position;
    private boolean ended;
    private boolean closed;
    private IOException failure; // null while nothing is wrong

    synchronized void put(ByteString part) {
      try {
        while (position < held.size() && !closed) {
          wait();
        }
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
        fail(new IOException("the upload was interrupted", stopped));
        return;
      }
      held = part;
      position = 0;
      notifyAll();
    }

    synchronized void end() {
      ended = true;
      notifyAll();
    }

    synchronized void fail(IOException why) {
      failure = why;
      notifyAll();
    }

    @Override
    public synchronized int read(byte[] target, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      await();
      int available = held.size() - position;
      if (available == 0) {
        return -1;
      }
      int read = Math.min(available, length);
      held.substring(position, position + read).copyTo(target, offset);
      position += read;
      notifyAll();
      return read;
    }

    /** Waits for bytes, the end of the upload, or its failure. */
    private void await() throws IOException {
      try {
        while (position == held.size() && !ended && failure == null && !closed) {
          wait();
        }
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
        throw new IOException("the upload was interrupted", stopped);
      }
      if (failure != null) {
        throw failure;
      }
      if (closed) {
        throw new IOException("the upload is closed");
      }
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public synchronized void close() {
      closed = true;
      notifyAll();
    }
  }
}
