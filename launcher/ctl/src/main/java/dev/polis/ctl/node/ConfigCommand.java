package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.SwapCommand;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.plugins.ConfigureRequest;
import dev.polis.wire.plugins.Configured;
import dev.polis.wire.plugins.GetConfigurationRequest;
import dev.polis.wire.plugins.Setting;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows and changes the configurations of the organs of a running node. */
@Command(
    name = "config",
    description = {
      "Shows and changes the configurations of the organs of a running node.",
      "A change is a new generation: the node reverts it if it makes the node unhealthy; it"
          + " survives restarts and precedes the command line. \"plugin rollback\" reverts"
          + " it."
    })
@Subcommands({
  ConfigCommand.GetCommand.class,
  ConfigCommand.SetCommand.class,
  ConfigCommand.UnsetCommand.class,
  ConfigCommand.DiffCommand.class
})
public final class ConfigCommand {

  /** Holds the common part of the commands that show keys. */
  abstract static class Shown extends SessionCommand {
    @Parameters(
        arity = "0..1",
        paramLabel = "PID[.KEY]",
        description = "such as dev.polis.metrics; all if none is named")
    String name = "";

    /** Describes the rows of all keys. */
    static Rows<Configured> rows() {
      return new Rows<Configured>()
          .column("KEY", "key", each -> each.getPid() + "." + each.getKey())
          .column("VALUE", "value", Configured::getValue)
          .field("source", each -> WireName.words(each.getSource()))
          .field("otherwise", Configured::getOtherwise)
          .field("description", Configured::getDescription);
    }

    final List<Configured> keys(Session session) throws InterruptedException {
      GetConfigurationRequest request = GetConfigurationRequest.newBuilder().setName(name).build();
      return session.call(() -> session.bundles().getConfiguration(request)).getKeysList();
    }
  }

  /** The keys with their values. */
  @Command(
      name = "get",
      description = "Shows the keys of organs with their values, and the source of each value.")
  static final class GetCommand extends Shown {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      return print(
          rows()
              .column(Column.of("SOURCE", "source"))
              .column(Column.wide("DESCRIPTION", "description"))
              .document(keys(session)));
    }
  }

  /** Lists the changes on the running node. */
  @Command(name = "diff", description = "Shows the keys that were changed on the running node.")
  static final class DiffCommand extends Shown {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      List<Configured> changed =
          keys(session).stream()
              .filter(each -> each.getSource() == Configured.Source.SOURCE_GENERATION)
              .toList();
      return print(rows().column(Column.of("OTHERWISE", "otherwise")).document(changed));
    }
  }

  /** A change. */
  @Command(name = "set", description = "Changes keys of organs; all of them together, or none.")
  static final class SetCommand extends SwapCommand.Tried {
    @Parameters(
        arity = "1..*",
        paramLabel = "PID.KEY=VALUE",
        description = "such as dev.polis.metrics.port=7940")
    List<String> assignments;

    @Option(names = "--force", description = "even if the node was not well with it before")
    boolean force;

    @Override
    protected ExitCode run() throws InterruptedException {
      ConfigureRequest.Builder request =
          ConfigureRequest.newBuilder().setDryRun(dryRun).setForce(force);
      for (String assignment : assignments) {
        int equals = assignment.indexOf('=');
        if (equals < 1) {
          throw new CtlException(
              ExitCode.USAGE,
              "\"%s\" sets nothing: write PID.KEY=VALUE, such as dev.polis.metrics.port=7940"
                  .formatted(assignment));
        }
        request.addSettings(
            Setting.newBuilder()
                .setName(assignment.substring(0, equals))
                .setValue(assignment.substring(equals + 1)));
      }
      return swap(swaps -> swaps.configure(request.build()));
    }
  }

  /** The end of a change. */
  @Command(
      name = "unset",
      description =
          "Takes keys back that were changed on the running node: the command line or the organ decides again.")
  static final class UnsetCommand extends SwapCommand {
    @Parameters(arity = "1..*", paramLabel = "PID.KEY", description = "which keys")
    List<String> names;

    @Override
    protected ExitCode run() throws InterruptedException {
      ConfigureRequest.Builder request = ConfigureRequest.newBuilder();
      names.forEach(name -> request.addSettings(Setting.newBuilder().setName(name).setUnset(true)));
      return swap(swaps -> swaps.configure(request.build()));
    }
  }
}
