package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.audit.AuditFault;
import dev.polis.wire.audit.VerifyAuditRequest;
import dev.polis.wire.audit.VerifyAuditResponse;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** Prints the audit log of a node. */
@Command(
    name = "audit",
    description = {
      "Shows the audit log of a node: changes with their callers, and refused calls.",
      "It marks a record that does not follow the previous one as BROKEN."
    })
@Subcommands({AuditCommand.Verify.class})
public final class AuditCommand extends SessionCommand {

  /** The service of a replaced organ is back within moments. */
  private static final long AGAIN = 200;

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
  protected void check() {
    CtlOptions.requireAtLeast(0, last, "--last");
  }

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    AuditReading<?> reading =
        kubernetes
            ? new KubernetesAuditReading(session, options().output, out())
            : new AuditReading.OfNode(session, out());
    while (reading.read(follow, last)) {
      Thread.sleep(AGAIN);
    }
    return ExitCode.OK;
  }

  /** Checks the chain. */
  @Command(
      name = "verify",
      description = {
        "Checks that no record of a node's audit log was changed, removed or put in.",
        "Note the last record on another machine: --expect finds a log that was rewritten or truncated.",
        "Exit code 5 if the chain is broken."
      })
  static final class Verify extends SessionCommand {
    private static final Rows<VerifyAuditResponse> ROWS =
        new Rows<VerifyAuditResponse>()
            .column("FILES", "files", VerifyAuditResponse::getFiles)
            .column("RECORDS", "records", VerifyAuditResponse::getRecords)
            .column("FIRST", "first", VerifyAuditResponse::getFirst)
            .field("last", VerifyAuditResponse::getLast)
            .column("CHAIN", "chain", each -> each.getFaultsCount() == 0 ? "whole" : "BROKEN")
            .column(Column.of("LAST", "last"));

    @ParentCommand AuditCommand audit;

    @Option(
        names = "--expect",
        paramLabel = "NUMBER:HASH",
        description = "the last record of an earlier check, which must be there still")
    String expected = "";

    @Override
    protected void check() {
      if (audit.kubernetes) {
        throw misused("Kubernetes' audit log has no hashes to check; leave out --kubernetes");
      }
    }

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      VerifyAuditRequest request = VerifyAuditRequest.newBuilder().setExpected(expected).build();
      VerifyAuditResponse verdict = session.call(() -> session.audit().verify(request));
      print(ROWS.document(List.of(verdict)));
      if (verdict.getFaultsCount() > 0) {
        throw new CtlException(ExitCode.NOT_MET, words(verdict));
      }
      return ExitCode.OK;
    }

    private static String words(VerifyAuditResponse verdict) {
      StringBuilder words = new StringBuilder("the audit log was changed after it was written:");
      for (AuditFault fault : verdict.getFaultsList()) {
        words.append("%n  %s%s".formatted(place(fault), fault.getReason()));
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
