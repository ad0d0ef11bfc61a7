package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.StartRequest;
import dev.polis.wire.plugins.StopRequest;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Groups the commands for the bundles of a running node. */
@Command(
    name = "bundle",
    description = "Shows, stops and starts the bundles of a running node.",
    mixinStandardHelpOptions = true)
@Subcommands({
  BundleCommand.ListCommand.class,
  BundleCommand.StopCommand.class,
  BundleCommand.StartCommand.class
})
public final class BundleCommand {

  @ParentCommand CtlRoot ctl;

  private int print(List<Plugin> plugins, CommandSpec spec) {
    JsonArray rows = new JsonArray();
    for (Plugin plugin : plugins) {
      JsonObject row = new JsonObject();
      row.addProperty("id", plugin.getBundleId());
      row.addProperty("name", plugin.getSymbolicName());
      row.addProperty("version", plugin.getVersion());
      row.addProperty("state", WireName.shortened(plugin.getState()));
      row.addProperty("location", plugin.getLocation());
      rows.add(row);
    }
    ctl.options.output.print(
        Document.rows(
            rows,
            Column.of("ID", "id"),
            Column.of("NAME", "name"),
            Column.of("VERSION", "version"),
            Column.of("STATE", "state"),
            Column.wide("LOCATION", "location")),
        spec.commandLine().getOut());
    return ExitCode.OK.code();
  }

  /** All bundles. */
  @Command(name = "list", description = "Lists bundles.", mixinStandardHelpOptions = true)
  static final class ListCommand implements Callable<Integer> {
    @ParentCommand BundleCommand bundle;
    @Spec CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(bundle.ctl.options)) {
        return bundle.print(
            session.call(
                () -> session.bundles().list(ListRequest.getDefaultInstance()).getPluginsList()),
            spec);
      }
    }
  }

  /** Stops one organ. */
  @Command(
      name = "stop",
      description = "Stops an organ and the organs that need it; its child processes keep running.",
      mixinStandardHelpOptions = true)
  static final class StopCommand implements Callable<Integer> {
    @ParentCommand BundleCommand bundle;
    @Spec CommandSpec spec;

    @Parameters(paramLabel = "NAME", description = "symbolic name, such as dev.polis.curator")
    String name;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(bundle.ctl.options)) {
        StopRequest request = StopRequest.newBuilder().setSymbolicName(name).build();
        return bundle.print(
            List.of(session.call(() -> session.bundles().stop(request).getPlugin())), spec);
      }
    }
  }

  /** Starts one organ. */
  @Command(
      name = "start",
      description = "Starts an organ; those that waited for it come back by themselves.",
      mixinStandardHelpOptions = true)
  static final class StartCommand implements Callable<Integer> {
    @ParentCommand BundleCommand bundle;
    @Spec CommandSpec spec;

    @Parameters(paramLabel = "NAME", description = "symbolic name, such as dev.polis.curator")
    String name;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(bundle.ctl.options)) {
        StartRequest request = StartRequest.newBuilder().setSymbolicName(name).build();
        return bundle.print(
            List.of(session.call(() -> session.bundles().start(request).getPlugin())), spec);
      }
    }
  }
}
