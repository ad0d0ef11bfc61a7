package dev.polis.ctl.node;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.PluginsGrpc.PluginsBlockingV2Stub;
import dev.polis.wire.plugins.StartRequest;
import dev.polis.wire.plugins.StopRequest;
import io.grpc.StatusException;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Groups the commands for the bundles of a running node. */
@Command(name = "bundle", description = "Shows, stops and starts the bundles of a running node.")
@Subcommands({
  BundleCommand.ListCommand.class,
  BundleCommand.StopCommand.class,
  BundleCommand.StartCommand.class
})
public final class BundleCommand {

  private static final Rows<Plugin> ROWS =
      new Rows<Plugin>()
          .column("ID", "id", Plugin::getBundleId)
          .column("NAME", "name", Plugin::getSymbolicName)
          .column("VERSION", "version", Plugin::getVersion)
          .column("STATE", "state", plugin -> WireName.shortened(plugin.getState()))
          .wide("LOCATION", "location", Plugin::getLocation);

  /** All bundles. */
  @Command(name = "list", description = "Lists bundles.")
  static final class ListCommand extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      return print(
          ROWS.document(
              session
                  .call(() -> session.bundles().list(ListRequest.getDefaultInstance()))
                  .getPluginsList()));
    }
  }

  /** Holds the common part of the commands for one bundle. */
  abstract static class OneBundle extends SessionCommand {
    @Parameters(paramLabel = "NAME", description = "symbolic name, such as dev.polis.curator")
    String name;

    abstract Plugin change(PluginsBlockingV2Stub bundles)
        throws StatusException, InterruptedException;

    @Override
    protected final ExitCode run(Session session) throws InterruptedException {
      return print(ROWS.document(List.of(session.call(() -> change(session.bundles())))));
    }
  }

  /** Stops one organ. */
  @Command(
      name = "stop",
      description = "Stops an organ and the organs that need it; its child processes keep running.")
  static final class StopCommand extends OneBundle {
    @Override
    Plugin change(PluginsBlockingV2Stub bundles) throws StatusException, InterruptedException {
      return bundles.stop(StopRequest.newBuilder().setSymbolicName(name).build()).getPlugin();
    }
  }

  /** Starts one organ. */
  @Command(
      name = "start",
      description = "Starts an organ. The organs that need it start again by themselves.")
  static final class StartCommand extends OneBundle {
    @Override
    Plugin change(PluginsBlockingV2Stub bundles) throws StatusException, InterruptedException {
      return bundles.start(StartRequest.newBuilder().setSymbolicName(name).build()).getPlugin();
    }
  }
}
