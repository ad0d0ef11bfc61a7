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
import dev.polis.wire.plugins.CancelRequest;
import dev.polis.wire.plugins.HistoryRequest;
import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.ListResponse;
import dev.polis.wire.plugins.PastSwap;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.RollbackRequest;
import java.time.Instant;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Packs, signs and inspects plugins, and swaps them in and out of a running node. */
@Command(
    name = "plugin",
    description = {
      "Packs, signs and inspects plugins, and says which keys may sign them and which nodes run them;",
      "replaces the organs and roles of a running node by other versions of them."
    })
@Subcommands({
  PluginPackCommand.class,
  PluginInspectCommand.class,
  PluginKeyCommand.class,
  PluginTrustCommand.class,
  PluginCommand.ListCommand.class,
  PluginSwapCommand.class,
  PluginPushCommand.class,
  PluginPinCommand.class,
  PluginUnpinCommand.class,
  PluginDiffCommand.class,
  PluginRemoveCommand.class,
  PluginGraphCommand.class,
  PluginAdoptCommand.class,
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
}
