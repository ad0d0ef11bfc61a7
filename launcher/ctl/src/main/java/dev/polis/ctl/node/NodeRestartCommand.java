package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Place;
import dev.polis.ctl.session.Session;
import dev.polis.wire.runtime.GetRuntimeRequest;
import dev.polis.wire.runtime.RestartRequest;
import dev.polis.wire.runtime.RuntimeGrpc;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Restarts the process of a node. */
@Command(
    name = "restart",
    description = {
      "Replaces the process of a node by a new one.",
      "This is how a new platform comes into use: the version on the node's disk is started. Child"
          + " processes, such as etcd, and mounts stay; calls fail for about a second."
    })
final class NodeRestartCommand extends CtlCommand {
  private static final Duration ASK_AGAIN = Duration.ofMillis(100);

  @Option(
      names = "--runtime",
      required = true,
      description = "the process, and not the machine, which \"node reboot\" restarts")
  boolean runtime;

  @Option(
      names = "--wait",
      paramLabel = "SECONDS",
      defaultValue = "60",
      description = "how long the new process may take to answer (default: ${DEFAULT-VALUE})")
  int wait;

  @Parameters(
      arity = "0..1",
      paramLabel = "ID",
      description = "the node; if it is left out, the one that --endpoint or --state names")
  List<String> ids = List.of();

  @Override
  protected ExitCode run() throws InterruptedException {
    CtlOptions.requireAtLeast(1, wait, "--wait");
    Place place;
    String before;
    try (Session session = Session.open(options())) {
      place = ids.isEmpty() ? session.here() : Place.of(NodeCommand.single(session, ids));
      before = replace(session, place);
    }
    long began = System.nanoTime();
    out()
        .printf(
            "the process of the node at %s is replaced; children and mounts stay%n", place.host())
        .flush();
    awaitOther(options(), before, place, wait);
    out()
        .printf(
            Locale.ROOT,
            "a new process answers after %.1f s%n",
            Duration.ofNanos(System.nanoTime() - began).toMillis() / 1000.0);
    return ExitCode.OK;
  }

  /**
   * Asks a node for a new process. The node's own listener decides who may, by the certificates of
   * its cluster, so that neither curator nor etcd nor a volume is needed.
   *
   * @return the process that is replaced
   */
  private static String replace(Session session, Place place) throws InterruptedException {
    RuntimeGrpc.RuntimeBlockingV2Stub stub = session.runtime(place);
    try {
      String now =
          session.call(() -> stub.getRuntime(GetRuntimeRequest.getDefaultInstance())).getInstance();
      RestartRequest request = RestartRequest.newBuilder().setInstance(now).build();
      session.call(() -> stub.restart(request));
      return now;
    } catch (CtlException away) {
      String state = session.target().listenersNow().state();
      boolean runsHere =
          !state.isEmpty() && place.host().equals(session.host()) && session.target().isRunning();
      if (away.exitCode() != ExitCode.UNREACHABLE || !runsHere) {
        throw away;
      }
      throw new CtlException(
          ExitCode.UNREACHABLE,
          "%1$s; './polis down --state %2$s' and './polis up --state %2$s' make a new process too"
              .formatted(away.getMessage(), CtlName.quoted(state)),
          away);
    }
  }

  /** Asks until another process answers; one that is starting cannot. */
  static void awaitOther(CtlOptions options, String before, Place place, int wait)
      throws InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(wait).toNanos();
    String last = "it still answers with the old process";
    while (System.nanoTime() < deadline) {
      try (Session session = Session.open(options)) {
        String now =
            session.runtime(place).getRuntime(GetRuntimeRequest.getDefaultInstance()).getInstance();
        if (!now.equals(before)) {
          return;
        }
      } catch (StatusException e) {
        last = String.valueOf(e.getStatus().getDescription());
      }
      Thread.sleep(ASK_AGAIN);
    }
    throw new CtlException(
        ExitCode.UNREACHABLE,
        "no new process of the node at %s has answered within %d s (%s); look at the node's output, './polis up' starts it"
            .formatted(place.host(), wait, last));
  }
}
