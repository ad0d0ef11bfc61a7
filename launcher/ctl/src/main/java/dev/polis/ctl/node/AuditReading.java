package dev.polis.ctl.node;

import dev.polis.ctl.session.Session;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.PrintWriter;

/**
 * Prints the records of an audit log, and continues behind the last one when the stream ends early.
 *
 * @param <R> in which records come
 */
abstract class AuditReading<R> {

  final Session session;
  final PrintWriter out;

  AuditReading(Session session, PrintWriter out) {
    this.session = session;
    this.out = out;
  }

  /** Asks for the records behind those that were printed. */
  abstract BlockingClientCall<?, R> open(boolean follow, int last);

  /** Prints some, and remembers where they end. */
  abstract void print(R response);

  /** Returns where the last record that was printed ends. */
  abstract Object place();

  /** Reads once; returns whether the stream ended because the service moves. */
  boolean read(boolean follow, int last) throws InterruptedException {
    return session.stream(() -> readAll(follow, last));
  }

  private boolean readAll(boolean follow, int last) throws StatusException, InterruptedException {
    Object before = place();
    BlockingClientCall<?, R> call = open(follow, last);
    try {
      for (R response = call.read(); response != null; response = call.read()) {
        print(response);
        if (out.checkError()) {
          call.cancel("the reader has ended", null);
          return false;
        }
      }
      return false;
    } catch (StatusException e) {
      if (follow && !place().equals(before) && e.getStatus().getCode() == Status.Code.UNAVAILABLE) {
        return true;
      }
      throw e;
    }
  }
}
