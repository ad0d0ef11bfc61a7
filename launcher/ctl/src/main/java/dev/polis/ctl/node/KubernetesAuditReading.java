package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import dev.polis.ctl.session.KubeJson;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.Session;
import dev.polis.logtree.LogFormat;
import dev.polis.wire.audit.KubernetesAuditRecord;
import dev.polis.wire.audit.ReadKubernetesAuditRequest;
import dev.polis.wire.audit.ReadKubernetesAuditResponse;
import io.grpc.stub.BlockingClientCall;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.StringJoiner;

/** Prints the audit log of Kubernetes' API server, a line for each record. */
final class KubernetesAuditReading extends AuditReading<ReadKubernetesAuditResponse> {

  /** The stage after which a request is over; others are named. */
  private static final String OVER = "ResponseComplete";

  /** As much as tells who sent what, of a record that cannot be taken apart. */
  private static final int BEGINNING = 500;

  private final Output output;
  private String printed = "";

  KubernetesAuditReading(Session session, Output output, PrintWriter out) {
    super(session, out);
    this.output = output;
  }

  @Override
  BlockingClientCall<?, ReadKubernetesAuditResponse> open(boolean follow, int last) {
    return session
        .kubernetesAudit()
        .read(
            ReadKubernetesAuditRequest.newBuilder()
                .setAfter(printed)
                .setFollow(follow)
                .setLast(printed.isEmpty() ? last : 0)
                .build());
  }

  @Override
  Object place() {
    return printed;
  }

  @Override
  void print(ReadKubernetesAuditResponse response) {
    printed = response.getPlace();
    response.getRecordsList().stream()
        .map(record -> output == Output.json ? Output.escaped(json(record)) : line(record))
        .forEach(out::println);
  }

  /** Returns a record as JSON on one line, also where it is none. */
  private static String json(KubernetesAuditRecord record) {
    return event(record)
        .map(JsonObject::toString)
        .orElseGet(
            () -> {
              JsonObject part = new JsonObject();
              part.addProperty("beginning", record.getText());
              part.addProperty("cut", record.getCut());
              return part.toString();
            });
  }

  /** Returns a record for people. */
  static String line(KubernetesAuditRecord record) {
    // Users choose names and paths, and could drive the reader's terminal with them.
    return LogFormat.printable(
        event(record).map(KubernetesAuditReading::line).orElseGet(() -> rest(record)));
  }

  private static Optional<JsonObject> event(KubernetesAuditRecord record) {
    if (record.getCut() > 0) {
      return Optional.empty();
    }
    try {
      JsonElement event = JsonParser.parseString(record.getText());
      return event instanceof JsonObject object ? Optional.of(object) : Optional.empty();
    } catch (JsonParseException damaged) {
      return Optional.empty();
    }
  }

  private static String line(JsonObject event) {
    StringJoiner line = new StringJoiner(" ");
    line.add(text(event, "stageTimestamp")).add(who(event));
    line.add(text(event, "verb")).add(text(event, "requestURI"));
    line.add(text(event, "responseStatus", "code"));
    String stage = text(event, "stage");
    if (!stage.equals(OVER)) {
      line.add("(" + stage + ")");
    }
    if (event.get("sourceIPs") instanceof JsonArray addresses) {
      line.add("from");
      addresses.forEach(each -> line.add(each.getAsString()));
    }
    return line.toString();
  }

  private static String who(JsonObject event) {
    String user = text(event, "user", "username");
    String other = KubeJson.text(event, "impersonatedUser", "username");
    return other.isEmpty() ? user : user + " as " + other;
  }

  private static String rest(KubernetesAuditRecord record) {
    String text = record.getText();
    return "%s: %s"
        .formatted(
            record.getCut() > 0
                ? "A record of more than %d bytes begins with".formatted(record.getCut())
                : "DAMAGED, as by a process that was killed",
            text.substring(0, Math.min(BEGINNING, text.length())));
  }

  /** Returns the text at a path of names, with a dash where there is none. */
  private static String text(JsonObject event, String... path) {
    String text = KubeJson.text(event, path);
    return text.isEmpty() ? "-" : text;
  }
}
