package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.audit.AuditFault;
import dev.polis.wire.audit.VerifyAuditRequest;
import dev.polis.wire.audit.VerifyAuditResponse;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Prints the audit log of a node. */
@Command(
    name = "audit",
    description = {
      "Shows the audit log of a node: changes with their callers, and refused calls.",
      "It marks a record that does not follow the previous one as BROKEN."
    },
    mixinStandardHelpOptions = true)
@Subcommands({AuditCommand.Verify.class})
public final class AuditCommand implements Callable<Integer> {

  /** The service of a replaced organ is back within moments. */
  private static final long AGAIN = 200;

  @ParentCommand CtlRoot ctl;
  @Spec CommandSpec spec;

  @Option(
      names = {"-f", "--follow"},
      description = "follow new records until interrupted")
  boolean follow;

  @Option(
      names = {"-n", "--last"},
      paramLabel = "COUNT",
      description = "only this many of the newest records (default: all kept records)")
  int last;

  @Option(
      names = "--kubernetes",
      description = {
        "the audit log of Kubernetes' API server on the node instead: callers and their requests;",
        "-o json prints its records as they are"
      })
  boolean kubernetes;

  @Override
  public Integer call() throws InterruptedException {
    CtlOptions.requireAtLeast(0, last, "--last");
    try (Session session = Session.open(ctl.options)) {
      PrintWriter out = spec.commandLine().getOut();
      AuditReading<?> reading =
          kubernetes
              ? new KubernetesAuditReading(session, ctl.options.output, out)
              : new NodeAuditReading(session, out);
      while (reading.read(follow, last)) {
        Thread.sleep(AGAIN);
      }
      return ExitCode.OK.code();
    }
  }

  /** Checks the chain. */
  @Command(
      name = "verify",
      description = {
        "Checks that no record of a node's audit log was changed, removed or put in.",
        "Note the last record on another machine: --expect finds a log that was rewritten or truncated.",
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
      if (audit.kubernetes) {
        throw new ParameterException(
            spec.commandLine(),
            "Kubernetes' audit log has no hashes to check; leave out --kubernetes");
      }
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
      StringBuilder words = new StringBuilder("the audit log was changed after it was written:");
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
