package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.SwapCommand;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.plugins.AdoptRequest;
import dev.polis.wire.plugins.CancelRequest;
import dev.polis.wire.plugins.HistoryRequest;
import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.ListResponse;
import dev.polis.wire.plugins.PastSwap;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.RemoveRequest;
import dev.polis.wire.plugins.RollbackRequest;
import dev.polis.wire.plugins.SwapRequest;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Packs, signs and inspects plugins, and swaps them in and out of a running node. */
@Command(
    name = "plugin",
    description = {
      "Packs and signs plugins, and replaces the organs and roles of running nodes by other versions.",
      "Shows which keys may sign plugins, and which nodes run them."
    })
@Subcommands({
  PluginPackCommand.class,
  PluginInspectCommand.class,
  PluginKeyCommand.class,
  PluginTrustCommand.class,
  PluginCommand.ListCommand.class,
  PluginCommand.Swap.class,
  PluginWanting.Push.class,
  PluginWanting.Pin.class,
  PluginUnpinCommand.class,
  PluginDiffCommand.class,
  PluginCommand.Remove.class,
  PluginGraphCommand.class,
  PluginCommand.Adopt.class,
  PluginCommand.RollbackCommand.class,
  PluginCommand.HistoryCommand.class,
  PluginCommand.CancelCommand.class
})
public final class PluginCommand {
  /** Enough to tell digests apart on a screen; json has all of it. */
  private static final int SHORT_DIGEST = 12;

  /** The plugins of the generation that counts. */
  @Command(
      name = "list",
      description = "Lists the plugins of a node, which may be replaced while it runs.")
  static final class ListCommand extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      ListResponse response =
          session.call(() -> session.bundles().list(ListRequest.getDefaultInstance()));
      return print(
          new Rows<Plugin>()
              .column("NAME", "name", Plugin::getSymbolicName)
              .column("VERSION", "version", Plugin::getVersion)
              .column("STATE", "state", each -> WireName.shortened(each.getState()))
              .field("digest", Plugin::getDigest)
              .column(new Column("DIGEST", ListCommand::digest, false))
              .column("GENERATION", "generation", _ -> response.getGeneration())
              .document(response.getPluginsList().stream().filter(Plugin::getSwappable).toList()));
    }

    private static String digest(JsonObject row) {
      return row.get("digest").getAsString().substring(0, SHORT_DIGEST);
    }
  }

  /** The way back. */
  @Command(
      name = "rollback",
      description = {
        "Runs the generation before the present one: its plugins and its configurations.",
        "Exit code 1 if that is refused or reverted."
      })
  static final class RollbackCommand extends SwapCommand.Tried {
    @Option(
        names = "--force",
        description =
            "even if the node was not well with it before, or the cluster wants other versions")
    boolean force;

    @Override
    protected ExitCode run() throws InterruptedException {
      RollbackRequest request =
          RollbackRequest.newBuilder().setDryRun(dryRun).setForce(force).build();
      return swap(swaps -> swaps.rollback(request));
    }
  }

  /** Lists the outcomes of swaps. */
  @Command(
      name = "history",
      description = "Lists the swaps of a node: when, by whom, how each ended, and why.")
  static final class HistoryCommand extends SessionCommand {
    private static final Rows<PastSwap> ROWS =
        new Rows<PastSwap>()
            .column("TIME", "time", each -> Instant.ofEpochMilli(each.getBeganMillis()))
            .column("WHO", "who", PastSwap::getWho)
            .column("WHAT", "what", PastSwap::getWhat)
            .column("OUTCOME", "outcome", PastSwap::getOutcome)
            .column("REASON", "reason", PastSwap::getReason);

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      HistoryRequest request = HistoryRequest.getDefaultInstance();
      return print(
          ROWS.document(session.call(() -> session.bundles().history(request)).getSwapsList()));
    }
  }

  /** The end of the swap under way. */
  @Command(
      name = "cancel",
      description = "Ends the swap that is under way; the node keeps its former plugins.")
  static final class CancelCommand extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      CancelRequest request = CancelRequest.getDefaultInstance();
      out()
          .println("cancelled: " + session.call(() -> session.bundles().cancel(request)).getWhat());
      return ExitCode.OK;
    }
  }

  /** Sends a plugin to a node and swaps it in. */
  @Command(
      name = "swap",
      description = {
        "Sends a plugin to a node and replaces the present version, stage by stage.",
        "The node reverts it by itself if its health gets worse. The swap continues when this command"
            + " is interrupted; \"plugin cancel\" ends it. Exit code 1 if it is refused or reverted."
      })
  static final class Swap extends SwapCommand.Tried {

    @Parameters(
        paramLabel = "FILE",
        description = "the bundle; its signed manifest is beside it as FILE.plugin")
    Path file;

    @Option(
        names = "--force",
        description = "even if the node was not well with it before, or the cluster wants another")
    boolean force;

    @Option(names = "--older", description = "even if it is older than the version that runs")
    boolean older;

    @Override
    protected ExitCode run() throws InterruptedException {
      PluginUpload upload = PluginUpload.of(file);
      try (Session session = Session.open(options())) {
        upload.send(session);
        SwapRequest request =
            SwapRequest.newBuilder()
                .setDigest(upload.header().getDigest())
                .setDryRun(dryRun)
                .setForce(force)
                .setOlder(older)
                .build();
        return swap(session, swaps -> swaps.swap(request));
      }
    }
  }

  /** Runs plugins in the versions that came with the node's distribution. */
  @Command(
      name = "adopt",
      description = {
        "Runs plugins in the versions that came with the node's distribution.",
        "Swapped plugins stay when a node is started from another distribution; this takes the"
            + " distribution's instead. Exit code 1 if that is refused or reverted."
      })
  static final class Adopt extends SwapCommand.Tried {

    @ArgGroup(multiplicity = "1")
    Which which;

    @Option(
        names = "--force",
        description =
            "even if the node was not well with them before, or the cluster wants other versions")
    boolean force;

    /** The plugins to take from the distribution. */
    static final class Which {
      @Parameters(arity = "1..*", paramLabel = "NAME", description = "the plugin's symbolic name")
      List<String> names = List.of();

      @Option(names = "--all", description = "all that the distribution has in another version")
      boolean all;
    }

    @Override
    protected ExitCode run() throws InterruptedException {
      AdoptRequest request =
          AdoptRequest.newBuilder()
              .addAllSymbolicNames(which.names)
              .setAll(which.all)
              .setDryRun(dryRun)
              .setForce(force)
              .build();
      return swap(swaps -> swaps.adopt(request));
    }
  }

  /** Takes a plugin off one node. */
  @Command(
      name = "remove",
      description = {
        "Removes a plugin from outside from a node. Plugins of the node's distribution stay.",
        "The node refuses to remove a plugin whose role it has: remove the role first, which ends its"
            + " work. Exit code 1 if it is refused or reverted."
      })
  static final class Remove extends SwapCommand.Tried {

    @Parameters(paramLabel = "NAME", description = "the plugin's symbolic name")
    String name;

    @Option(names = "--force", description = "even if the node was not well without it before")
    boolean force;

    @Override
    protected ExitCode run() throws InterruptedException {
      RemoveRequest request =
          RemoveRequest.newBuilder()
              .setSymbolicName(name)
              .setDryRun(dryRun)
              .setForce(force)
              .build();
      return swap(swaps -> swaps.remove(request));
    }
  }
}
