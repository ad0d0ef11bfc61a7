package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.runtime.GetRuntimeRequest;
import dev.polis.wire.runtime.RestartRequest;
import dev.polis.wire.runtime.RuntimeGrpc;
import io.grpc.StatusException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Restarts the process of a node. */
@Command(
    name = "restart",
    description = {
      "Replaces the process of a node by a new one.",
      "This is how a new platform comes into use: the version on the node's disk is started. Child"
          + " processes, such as etcd, and mounts stay; calls fail for about a second."
    },
    mixinStandardHelpOptions = true)
final class NodeRestartCommand implements Callable<Integer> {
  private static final Duration ASK_AGAIN = Duration.ofMillis(100);

  @ParentCommand NodeCommand node;
  @Spec CommandSpec spec;

  @Option(
      names = "--runtime",
      required = true,
      description = "the process, and not the machine; the only kind of restart there is")
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
      description = "the node; optional if there is only one")
  List<String> ids = List.of();

  @Override
  public Integer call() throws InterruptedException {
    CtlOptions.requireAtLeast(1, wait, "--wait");
    PrintWriter out = spec.commandLine().getOut();
    Node chosen;
    String before;
    long began;
    try (Session session = Session.open(node.ctl.options)) {
      chosen = NodeCommand.single(session, ids);
      RuntimeGrpc.RuntimeBlockingV2Stub stub = session.runtime(NodeCommand.address(chosen));
      before =
          session.call(() -> stub.getRuntime(GetRuntimeRequest.getDefaultInstance())).getInstance();
      RestartRequest request = RestartRequest.newBuilder().setInstance(before).build();
      session.call(() -> stub.restart(request));
      began = System.nanoTime();
    }
    out.println("the process of " + chosen.getId() + " is replaced; children and mounts stay");
    out.flush();
    awaitOther(before, chosen, began + Duration.ofSeconds(wait).toNanos());
    out.printf(
        Locale.ROOT,
        "a new process answers after %.1f s%n",
        Duration.ofNanos(System.nanoTime() - began).toMillis() / 1000.0);
    return ExitCode.OK.code();
  }

  /** Asks until another process answers; one that is starting cannot. */
  private void awaitOther(String before, Node chosen, long deadline) throws InterruptedException {
    String last = "it still answers with the old process";
    while (System.nanoTime() < deadline) {
      try (Session session = Session.open(node.ctl.options)) {
        String now =
            session
                .runtime(NodeCommand.address(chosen))
                .getRuntime(GetRuntimeRequest.getDefaultInstance())
                .getInstance();
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
        "no new process of %s has answered within %d s (%s); look at the node's output, './polis up' starts it"
            .formatted(chosen.getId(), wait, last));
  }
}
