package dev.polis.rpc;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Sends messages to one caller from the thread of whoever has a new message. It is for streams of
 * which there are many that all carry the same messages, so that none needs a thread of its own.
 * Made by {@link CallStreams#feed}. Safe for use by any thread.
 *
 * @param <T> what is sent
 */
public final class CallFeed<T> {

  /**
   * Supplies the messages of a stream. Called by one thread at a time; does not block, since the
   * thread is that of somebody who feeds others as well.
   *
   * @param <T> what is sent
   */
  public interface Source<T> {
    /**
     * Returns the next message, empty if there is none at present. It is asked only when the caller
     * has taken enough of those before, so it may join what it has not been asked for. What it
     * throws ends the call as it would end a unary one.
     */
    Optional<T> next();

    /** Releases what the source holds; called once, when the stream has ended for any reason. */
    void over();
  }

  private final ServerCallStreamObserver<T> call;
  private final Consumer<CallFeed<T>> onEnd;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by lock.
  private Source<T> source; // null until it is open
  private boolean over;

  CallFeed(ServerCallStreamObserver<T> call, Consumer<CallFeed<T>> onEnd) {
    this.call = call;
    this.onEnd = onEnd;
  }

  void from(Source<T> opened) {
    lock.lock();
    try {
      if (over) {
        opened.over();
        return;
      }
      source = opened;
    } finally {
      lock.unlock();
    }
    wake();
  }

  /**
   * Sends the messages that the source has, no faster than the caller reads; the rest is sent when
   * the caller has room.
   */
  public void wake() {
    lock.lock();
    try {
      if (!over && source != null) {
        send();
      }
    } catch (RpcException refusal) {
      end(refusal);
    } catch (Throwable failure) {
      // Whatever it is, it is this call's and nobody else's; the host words and logs it.
      finish();
      call.onError(failure);
    } finally {
      lock.unlock();
    }
  }

  private void send() {
    while (call.isReady()) {
      Optional<T> next = source.next();
      if (next.isEmpty()) {
        return;
      }
      call.onNext(next.get());
    }
  }

  /** Ends the stream; does nothing if it has ended. */
  public void end(RpcException reason) {
    lock.lock();
    try {
      if (finish()) {
        call.onError(reason.status().asRuntimeException(reason.trailers()));
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends the stream because its caller disconnected. */
  void gone() {
    lock.lock();
    try {
      finish();
    } finally {
      lock.unlock();
    }
  }

  private boolean finish() {
    if (over) {
      return false;
    }
    over = true;
    onEnd.accept(this);
    if (source != null) {
      source.over();
    }
    return true;
  }
}
