package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import io.grpc.Status;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows how the nodes of the cluster stand, and the organs and roles of one or of each. */
@Command(
    name = "health",
    description = {
      "Shows how the node of the cluster stands, and its organs and roles. Of several nodes it",
      "shows one line each and who keeps the records, and of NODE, or with -o wide, the rest.",
      "Exit code 5 if a node is not healthy, or an organ or role is WAITING or DOWN; DEGRADED ones"
          + " do their work.",
      "If the cluster does not answer, it asks only the node, without credentials if necessary."
    })
public final class HealthCommand extends CtlCommand {

  /** Health changes with heartbeats, which come every 2.5 s. */
  private static final Duration ASK_AGAIN = Duration.ofMillis(500);

  /**
   * The command waits so many seconds for a node whose cluster does not answer; people wait no
   * longer.
   */
  private static final int PATIENCE = 2;

  /** The failures that keep the cluster from being asked, and not the debug service of the node. */
  private static final Set<ExitCode> ASK_DEBUG =
      EnumSet.of(ExitCode.UNREACHABLE, ExitCode.NOT_FOUND);

  @Parameters(
      arity = "0..1",
      paramLabel = "NODE",
      description = "the id of the node to show in full (default: all nodes)")
  String node = "";

  @Option(
      names = "--wait",
      paramLabel = "SECONDS",
      description = "wait this long for the cluster to become healthy (default: do not wait)")
  int wait;

  @Override
  protected ExitCode run() throws InterruptedException {
    CtlOptions.requireAtLeast(0, wait, "--wait");
    HealthReport report = await(System.nanoTime() + Duration.ofSeconds(wait).toNanos());
    if (!report.note().isEmpty()) {
      remark(report.note());
    }
    if (options().output.isForPeople()) {
      new HealthTables(options().output, out()).print(report, options().command("health"));
    } else {
      print(Document.rows(report.json()));
    }
    return report.healthy() ? ExitCode.OK : ExitCode.NOT_MET;
  }

  /** Asks until the answer is good or the time is over; a node that is starting cannot answer. */
  private HealthReport await(long deadline) throws InterruptedException {
    while (true) {
      boolean last = System.nanoTime() >= deadline;
      try {
        HealthReport report = fetch();
        if (report.healthy() || last) {
          return report;
        }
        waiting(report.worst());
      } catch (CtlException e) {
        if (last || e.exitCode() != ExitCode.UNREACHABLE) {
          throw e;
        }
        waiting(e.getMessage());
      }
      Thread.sleep(ASK_AGAIN);
    }
  }

  private void waiting(String what) {
    spec.commandLine().getErr().println("waiting: " + what);
  }

  private HealthReport fetch() throws InterruptedException {
    HealthReport report = fetchAll();
    return node.isEmpty() ? report : report.only(node);
  }

  private HealthReport fetchAll() throws InterruptedException {
    try (Session session = Session.open(options())) {
      try {
        return ofCluster(session);
      } catch (CtlException e) {
        if (!ASK_DEBUG.contains(e.exitCode())
            && !refusedWith(e, Status.Code.UNAUTHENTICATED)
            && !refusedWith(e, Status.Code.FAILED_PRECONDITION)) {
          throw e;
        }
        return fetchFromNode(session, e);
      }
    }
  }

  /** Asks the cluster through the leader if the node that was asked does not lead. */
  private HealthReport ofCluster(Session session) throws InterruptedException {
    try {
      HealthReport report = HealthReport.ofCluster(session);
      return session
          .referredTo()
          .map(leader -> report.noting(answered(session, leader)))
          .orElse(report);
    } catch (CtlException e) {
      Optional<Session> leader = session.withLeader().or(() -> chosenNow(session));
      if (leader.isEmpty()) {
        throw e;
      }
      try (Session there = leader.get()) {
        return HealthReport.ofCluster(there).noting(answered(session, there.host()));
      } catch (CtlException another) {
        e.addSuppressed(another);
        throw e;
      }
    }
  }

  private static String answered(Session session, String leader) {
    return "%s does not lead the cluster; the leader, %s, has answered for it"
        .formatted(session.host(), leader);
  }

  /** Opens a session with the new leader of a cluster on this machine, if it has one meanwhile. */
  private Optional<Session> chosenNow(Session before) {
    Session now = Session.open(options());
    if (now.host().equals(before.host())) {
      now.close();
      return Optional.empty();
    }
    return Optional.of(now);
  }

  /**
   * Returns whether the node refused the call with this code: UNAUTHENTICATED, as one whose clock
   * is wrong, or FAILED_PRECONDITION, as one of an earlier version that keeps no records.
   */
  private static boolean refusedWith(CtlException failure, Status.Code code) {
    return failure.getCause() instanceof StatusException refused
        && refused.getStatus().getCode() == code;
  }

  /** Asks the node of a session, and no other, so that the report is that of the named node. */
  private static HealthReport fetchFromNode(Session session, CtlException why)
      throws InterruptedException {
    // Without a certificate nothing else can answer, so the node has the usual time.
    int patience = why.exitCode() == ExitCode.NOT_FOUND ? Integer.MAX_VALUE : PATIENCE;
    try (Session beside = session.beside(patience)) {
      return HealthReport.ofNode(beside, why);
    } catch (CtlException e) {
      if (session.target().listenersNow().nodeIsDown()) {
        throw e; // which says why it is down
      }
      if (why.exitCode() == ExitCode.UNREACHABLE) {
        why.addSuppressed(e); // it says the same of another port
        throw why;
      }
      throw new CtlException(
          why.exitCode(),
          "%s. The node itself gave no report: %s".formatted(why.getMessage(), e.getMessage()),
          e);
    }
  }
}
