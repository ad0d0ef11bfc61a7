package dev.polis.rpc;

import com.google.protobuf.Message;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import io.grpc.Status;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Set;

/**
 * Logs the calls of one listener: failures in the log of the listener, changes also in the audit
 * log.
 */
final class CallLog {
  /** DN of the changes that people and strangers make. */
  static final String AUDIT = "audit";

  /** DN of the status that nodes report about themselves every few seconds. */
  static final String AUDIT_SELF = "audit.self";

  /** Names the methods that read logs: logging their answers would add to what they read. */
  private static final Set<String> LOG_READERS = Set.of("Logs", "GetComponentLogs");

  private final Log log;
  // Callers determine how often these are used, so the place is looked up once.
  private final Log calls;
  private final Log successes;
  private final Log messages;
  private final Log audit;
  private final Log auditSelf;

  private final CallAudit kept;

  CallLog(LogTree tree, CallAudit kept, String listener) {
    this.kept = kept;
    this.log = tree.log("rpc." + listener);
    this.calls = log.here();
    this.successes = calls.v(1);
    this.messages = calls.v(2);
    this.audit = tree.log(AUDIT).here();
    this.auditSelf = tree.log(AUDIT_SELF).here();
  }

  /** Returns the part that writes calls to the audit log. */
  CallAudit audit() {
    return kept;
  }

  /** Returns the log of the listener. */
  Log listener() {
    return log;
  }

  /** Returns whether answers of handlers are logged; they are at verbosity 2 only. */
  boolean verbose() {
    return messages.enabled();
  }

  /** Logs a message that a handler sent. */
  void sent(String id, String method, Message message) {
    if (!readsLogs(method)) {
      messages.info("[%s] %s sends %s", id, method, RedactedText.of(message));
    }
  }

  /** Returns whether the end of a call is logged. */
  boolean records(CallRule rule, RpcPeer peer, Status status) {
    return CallAudit.records(rule, peer, status) || plain(status).enabled();
  }

  private Log plain(Status status) {
    return status.isOk() ? successes : calls;
  }

  /**
   * Logs the end of a call.
   *
   * @param begun whether the audit log has a BEGIN record of the call
   * @param said the request, redacted
   * @param source the address of the caller
   * @return a ticket for {@link CallAudit#await}
   */
  long finished(
      String id,
      CallRule rule,
      RpcPeer peer,
      boolean begun,
      String said,
      Status status,
      Duration time,
      SocketAddress source) {
    String outcome =
        "%s after %d ms"
            .formatted(
                status.getDescription() == null
                    ? status.getCode().name()
                    : status.getCode() + " (" + bounded(status.getDescription()) + ")",
                time.toMillis());
    plain(status).info("[%s] %s by %s: %s; %s", id, rule.method(), peer.describe(), outcome, said);
    // Refused calls of strangers would push the changes out of the ring buffer.
    if (rule.mutating() && (status.isOk() || !(peer instanceof RpcPeer.Unauthenticated))) {
      (rule.selfReport() ? auditSelf : audit)
          .info("%s called %s: %s; %s [%s]", peer.describe(), rule.method(), outcome, said, id);
    }
    return CallAudit.records(rule, peer, status)
        ? kept.finished(id, rule, peer, begun, outcome, status, said, source)
        : 0;
  }

  private static boolean readsLogs(String method) {
    return LOG_READERS.contains(method.substring(method.lastIndexOf('/') + 1));
  }

  /** Cuts a status message, which may quote a request at length. */
  private static String bounded(String text) {
    return text.length() <= RedactedText.LIMIT
        ? text
        : text.substring(0, RedactedText.LIMIT) + "...";
  }
}
