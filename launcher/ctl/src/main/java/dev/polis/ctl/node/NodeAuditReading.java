package dev.polis.ctl.node;

import dev.polis.ctl.session.Session;
import dev.polis.wire.audit.AuditEntry;
import dev.polis.wire.audit.ReadAuditRequest;
import dev.polis.wire.audit.ReadAuditResponse;
import io.grpc.stub.BlockingClientCall;
import java.io.PrintWriter;
import java.time.Instant;

/** Prints the node's own audit log. */
final class NodeAuditReading extends AuditReading<ReadAuditResponse> {

  private long printed;

  NodeAuditReading(Session session, PrintWriter out) {
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
