package dev.polis.ctl.plugin;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.SwapScreen;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.plugins.CancelRequest;
import dev.polis.wire.plugins.HistoryRequest;
import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.ListResponse;
import dev.polis.wire.plugins.PastSwap;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.RollbackRequest;
import java.time.Instant;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Packs, signs and inspects plugins, and swaps them in and out of a running node. */
@Command(
    name = "plugin",
    description = {
      "Packs and signs plugins, and replaces the organs and roles of running nodes by other versions.",
      "Shows which keys may sign plugins, and which nodes run them."
    },
    mixinStandardHelpOptions = true)
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

  @ParentCommand CtlRoot ctl;

  /** Prints a sentence for people, or a document for programs. */
  void print(JsonObject result, String words, CommandSpec spec) {
    Output output = ctl.options.output;
    if (output == Output.table || output == Output.wide) {
      spec.commandLine().getOut().println(words);
    } else {
      output.print(Document.single(result), spec.commandLine().getOut());
    }
  }

  /** The plugins of the generation that counts. */
  @Command(
      name = "list",
      description = "Lists the plugins of a node, which may be replaced while it runs.",
      mixinStandardHelpOptions = true)
  static final class ListCommand implements Callable<Integer> {
    @ParentCommand PluginCommand plugin;
    @Spec CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(plugin.ctl.options)) {
        ListResponse response =
            session.call(() -> session.bundles().list(ListRequest.getDefaultInstance()));
        JsonArray rows = new JsonArray();
        for (Plugin each : response.getPluginsList()) {
          if (each.getSwappable()) {
            rows.add(row(each, response.getGeneration()));
          }
        }
        plugin.ctl.options.output.print(
            Document.rows(
                rows,
                Column.of("NAME", "name"),
                Column.of("VERSION", "version"),
                Column.of("STATE", "state"),
                new Column(
                    "DIGEST",
                    row -> row.get("digest").getAsString().substring(0, SHORT_DIGEST),
                    false),
                Column.of("GENERATION", "generation")),
            spec.commandLine().getOut());
        return ExitCode.OK.code();
      }
    }

    private static JsonObject row(Plugin each, long generation) {
      JsonObject row = new JsonObject();
      row.addProperty("name", each.getSymbolicName());
      row.addProperty("version", each.getVersion());
      row.addProperty("state", WireName.shortened(each.getState()));
      row.addProperty("digest", each.getDigest());
      row.addProperty("generation", generation);
      return row;
    }
  }

  /** The way back. */
  @Command(
      name = "rollback",
      description = {
        "Runs the generation before the present one: its plugins and its configurations.",
        "Exit code 1 if that is refused or reverted."
      },
      mixinStandardHelpOptions = true)
  static final class RollbackCommand implements Callable<Integer> {
    @ParentCommand PluginCommand plugin;
    @Spec CommandSpec spec;

    @Option(
        names = "--dry-run",
        description = "only print the effects on the node, with their reasons")
    boolean dryRun;

    @Option(
        names = "--force",
        description =
            "even if the node was not well with it before, or the cluster wants other versions")
    boolean force;

    @Override
    public Integer call() throws InterruptedException {
      RollbackRequest request =
          RollbackRequest.newBuilder().setDryRun(dryRun).setForce(force).build();
      try (Session session = Session.open(plugin.ctl.options)) {
        return new SwapScreen(plugin.ctl.options.output, spec.commandLine().getOut())
            .follow(session, () -> session.swaps().rollback(request))
            .code();
      }
    }
  }

  /** Lists the outcomes of swaps. */
  @Command(
      name = "history",
      description = "Lists the swaps of a node: when, by whom, how each ended, and why.",
      mixinStandardHelpOptions = true)
  static final class HistoryCommand implements Callable<Integer> {
    @ParentCommand PluginCommand plugin;
    @Spec CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(plugin.ctl.options)) {
        JsonArray rows = new JsonArray();
        session
            .call(() -> session.bundles().history(HistoryRequest.getDefaultInstance()))
            .getSwapsList()
            .forEach(each -> rows.add(row(each)));
        plugin.ctl.options.output.print(
            Document.rows(
                rows,
                Column.of("TIME", "time"),
                Column.of("WHO", "who"),
                Column.of("WHAT", "what"),
                Column.of("OUTCOME", "outcome"),
                Column.of("REASON", "reason")),
            spec.commandLine().getOut());
        return ExitCode.OK.code();
      }
    }

    private static JsonObject row(PastSwap each) {
      JsonObject row = new JsonObject();
      row.addProperty("time", Instant.ofEpochMilli(each.getBeganMillis()).toString());
      row.addProperty("who", each.getWho());
      row.addProperty("what", each.getWhat());
      row.addProperty("outcome", each.getOutcome());
      row.addProperty("reason", each.getReason());
      return row;
    }
  }

  /** The end of the swap under way. */
  @Command(
      name = "cancel",
      description = "Ends the swap that is under way; the node keeps its former plugins.",
      mixinStandardHelpOptions = true)
  static final class CancelCommand implements Callable<Integer> {
    @ParentCommand PluginCommand plugin;
    @Spec CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(plugin.ctl.options)) {
        String what =
            session
                .call(() -> session.bundles().cancel(CancelRequest.getDefaultInstance()))
                .getWhat();
        spec.commandLine().getOut().println("cancelled: " + what);
        return ExitCode.OK.code();
      }
    }
  }
}
