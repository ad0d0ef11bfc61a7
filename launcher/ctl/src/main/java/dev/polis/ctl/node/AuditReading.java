package dev.polis.ctl.node;

import dev.polis.ctl.session.Session;
import dev.polis.wire.audit.AuditEntry;
import dev.polis.wire.audit.ReadAuditRequest;
import dev.polis.wire.audit.ReadAuditResponse;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.PrintWriter;
import java.time.Instant;

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

  /** Prints the node's own audit log. */
  static final class OfNode extends AuditReading<ReadAuditResponse> {

    private long printed;

    OfNode(Session session, PrintWriter out) {
      super(session, out);
    }

    @Override
    BlockingClientCall<?, ReadAuditResponse> open(boolean follow, int last) {
      return session
          .auditStream()
          .read(
              ReadAuditRequest.newBuilder()
                  .setAfter(printed)
                  .setFollow(follow)
                  .setLast(printed == 0 ? last : 0)
                  .build());
    }

    @Override
    Object place() {
      return printed;
    }

    @Override
    void print(ReadAuditResponse response) {
      response.getEntriesList().forEach(this::print);
    }

    private void print(AuditEntry entry) {
      printed = entry.getSequence();
      out.println(
          String.join(
              " ",
              String.valueOf(entry.getSequence()),
              Instant.ofEpochSecond(entry.getTime().getSeconds(), entry.getTime().getNanos())
                  .toString(),
              (entry.getBroken() ? "BROKEN " : "") + entry.getKind(),
              about(entry),
              entry.getText()));
    }

    private static String about(AuditEntry entry) {
      return entry.getCall().isEmpty()
          ? "-"
          : "[%s] %s %s".formatted(entry.getCall(), entry.getPeer(), entry.getMethod());
    }
  }
}
