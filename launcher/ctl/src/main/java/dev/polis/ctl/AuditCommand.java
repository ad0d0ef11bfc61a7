package dev.polis.ctl;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.Document.Column;
import dev.polis.wire.audit.AuditEntry;
import dev.polis.wire.audit.AuditFault;
import dev.polis.wire.audit.ReadAuditRequest;
import dev.polis.wire.audit.VerifyAuditRequest;
import dev.polis.wire.audit.VerifyAuditResponse;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Prints the audit log of a node. */
@Command(
    name = "audit",
    description = {
      "Shows the audit log of a node: who changed what, and whom it refused.",
      "A record that does not follow the one before it is marked BROKEN."
    },
    mixinStandardHelpOptions = true)
@Subcommands({AuditCommand.Verify.class})
final class AuditCommand implements Callable<Integer> {

  @ParentCommand Ctl ctl;
  @Spec CommandSpec spec;

  @Option(
      names = {"-f", "--follow"},
      description = "go on with new records until interrupted")
  boolean follow;

  @Option(
      names = {"-n", "--last"},
      paramLabel = "COUNT",
      description = "only this many of the newest records (default: all that are kept)")
  int last;

  @Override
  public Integer call() throws InterruptedException {
    CtlOptions.requireAtLeast(0, last, "--last");
    try (Session session = Session.open(ctl.options)) {
      Reading reading = new Reading(session, spec.commandLine().getOut());
      while (reading.read(follow, last)) {
        Thread.sleep(Reading.AGAIN);
      }
      return ExitCode.OK.code();
    }
  }

  /** Prints records, and goes on behind the last one when the stream ends early. */
  private static final class Reading {
    /** The service of a replaced organ is back within moments. */
    static final long AGAIN = 200;

    private final Session session;
    private final PrintWriter out;
    private long printed;

    Reading(Session session, PrintWriter out) {
      this.session = session;
      this.out = out;
    }

    /** Reads once; returns whether the stream ended because the service moves. */
    boolean read(boolean follow, int last) throws InterruptedException {
      ReadAuditRequest.Builder request =
          ReadAuditRequest.newBuilder().setAfter(printed).setFollow(follow);
      if (printed == 0) {
        request.setLast(last);
      }
      return session.stream(() -> readAll(request.build()));
    }

    private boolean readAll(ReadAuditRequest request) throws StatusException, InterruptedException {
      BlockingClientCall<?, dev.polis.wire.audit.ReadAuditResponse> call =
          session.auditStream().read(request);
      try {
        for (var response = call.read(); response != null; response = call.read()) {
          response.getEntriesList().forEach(this::print);
          if (out.checkError()) {
            call.cancel("nobody reads any more", null);
            return false;
          }
        }
        return false;
      } catch (StatusException e) {
        if (request.getFollow()
            && printed > request.getAfter()
            && e.getStatus().getCode() == Status.Code.UNAVAILABLE) {
          return true;
        }
        throw e;
      }
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

  /** Checks the chain. */
  @Command(
      name = "verify",
      description = {
        "Checks that no record of a node's audit log was changed, removed or put in.",
        "Note the last record somewhere else: --expect finds a log that was written anew or cut.",
        "Exit code 5 if the chain is broken."
      },
      mixinStandardHelpOptions = true)
  static final class Verify implements Callable<Integer> {
    @ParentCommand AuditCommand audit;
    @Spec CommandSpec spec;

    @Option(
        names = "--expect",
        paramLabel = "NUMBER:HASH",
        description = "the last record of an earlier check, which must be there still")
    String expected = "";

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(audit.ctl.options)) {
        VerifyAuditResponse verdict =
            session.call(
                () ->
                    session
                        .audit()
                        .verify(VerifyAuditRequest.newBuilder().setExpected(expected).build()));
        PrintWriter out = spec.commandLine().getOut();
        audit.ctl.options.output.print(document(verdict), out);
        if (verdict.getFaultsCount() > 0) {
          throw new CtlException(ExitCode.NOT_MET, words(verdict));
        }
        return ExitCode.OK.code();
      }
    }

    private static Document document(VerifyAuditResponse verdict) {
      JsonArray rows = new JsonArray();
      JsonObject row = new JsonObject();
      row.addProperty("files", verdict.getFiles());
      row.addProperty("records", verdict.getRecords());
      row.addProperty("first", verdict.getFirst());
      row.addProperty("last", verdict.getLast());
      row.addProperty("chain", verdict.getFaultsCount() == 0 ? "whole" : "BROKEN");
      rows.add(row);
      return Document.rows(
          rows,
          Column.of("FILES", "files"),
          Column.of("RECORDS", "records"),
          Column.of("FIRST", "first"),
          Column.of("CHAIN", "chain"),
          Column.of("LAST", "last"));
    }

    private static String words(VerifyAuditResponse verdict) {
      StringBuilder words = new StringBuilder("the audit log is not what was written:");
      for (AuditFault fault : verdict.getFaultsList()) {
        words
            .append(System.lineSeparator())
            .append("  ")
            .append(place(fault))
            .append(fault.getReason());
      }
      return words.toString();
    }

    private static String place(AuditFault fault) {
      if (fault.getFile().isEmpty()) {
        return "";
      }
      return fault.getLine() == 0
          ? fault.getFile() + ": "
          : "%s, line %d: ".formatted(fault.getFile(), fault.getLine());
    }
  }
}
