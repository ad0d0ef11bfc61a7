package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.SwapScreen;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.plugins.ConfigureRequest;
import dev.polis.wire.plugins.Configured;
import dev.polis.wire.plugins.GetConfigurationRequest;
import dev.polis.wire.plugins.Setting;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Shows and changes the configurations of the organs of a running node. */
@Command(
    name = "config",
    description = {
      "Shows and changes the configurations of the organs of a running node.",
      "A change is a new generation: the node reverts it if it makes the node unhealthy; it"
          + " survives restarts and precedes the command line. \"plugin rollback\" reverts"
          + " it."
    },
    mixinStandardHelpOptions = true)
@Subcommands({
  ConfigCommand.GetCommand.class,
  ConfigCommand.SetCommand.class,
  ConfigCommand.UnsetCommand.class,
  ConfigCommand.DiffCommand.class
})
public final class ConfigCommand {

  @ParentCommand CtlRoot ctl;

  /** Names the keys that a command is about. */
  static final class Keys {
    @Parameters(
        arity = "0..1",
        paramLabel = "PID[.KEY]",
        description = "such as dev.polis.metrics; all if none is named")
    String name = "";
  }

  private void print(String name, Predicate<Configured> wanted, CommandSpec spec, Column... columns)
      throws InterruptedException {
    GetConfigurationRequest request = GetConfigurationRequest.newBuilder().setName(name).build();
    try (Session session = Session.open(ctl.options)) {
      JsonArray rows = new JsonArray();
      session.call(() -> session.bundles().getConfiguration(request)).getKeysList().stream()
          .filter(wanted)
          .forEach(each -> rows.add(row(each)));
      ctl.options.output.print(Document.rows(rows, columns), spec.commandLine().getOut());
    }
  }

  private static JsonObject row(Configured each) {
    JsonObject row = new JsonObject();
    row.addProperty("key", each.getPid() + "." + each.getKey());
    row.addProperty("value", each.getValue());
    row.addProperty(
        "source", WireName.shortened(each.getSource()).toLowerCase(Locale.ROOT).replace('_', ' '));
    row.addProperty("otherwise", each.getOtherwise());
    row.addProperty("description", each.getDescription());
    return row;
  }

  private int order(ConfigureRequest request, CommandSpec spec) throws InterruptedException {
    try (Session session = Session.open(ctl.options)) {
      return new SwapScreen(ctl.options.output, spec.commandLine().getOut())
          .follow(session, () -> session.swaps().configure(request))
          .code();
    }
  }

  /** The keys with their values. */
  @Command(
      name = "get",
      description = "Shows the keys of organs with their values, and the source of each value.",
      mixinStandardHelpOptions = true)
  static final class GetCommand implements Callable<Integer> {
    @ParentCommand ConfigCommand config;
    @Spec CommandSpec spec;

    @Mixin Keys keys;

    @Override
    public Integer call() throws InterruptedException {
      config.print(
          keys.name,
          each -> true,
          spec,
          Column.of("KEY", "key"),
          Column.of("VALUE", "value"),
          Column.of("SOURCE", "source"),
          Column.wide("DESCRIPTION", "description"));
      return ExitCode.OK.code();
    }
  }

  /** Lists the changes on the running node. */
  @Command(
      name = "diff",
      description = "Shows the keys that were changed on the running node.",
      mixinStandardHelpOptions = true)
  static final class DiffCommand implements Callable<Integer> {
    @ParentCommand ConfigCommand config;
    @Spec CommandSpec spec;

    @Mixin Keys keys;

    @Override
    public Integer call() throws InterruptedException {
      config.print(
          keys.name,
          each -> each.getSource() == Configured.Source.SOURCE_GENERATION,
          spec,
          Column.of("KEY", "key"),
          Column.of("VALUE", "value"),
          Column.of("OTHERWISE", "otherwise"));
      return ExitCode.OK.code();
    }
  }

  /** A change. */
  @Command(
      name = "set",
      description = "Changes keys of organs; all of them together, or none.",
      mixinStandardHelpOptions = true)
  static final class SetCommand implements Callable<Integer> {
    @ParentCommand ConfigCommand config;
    @Spec CommandSpec spec;

    @Parameters(
        arity = "1..*",
        paramLabel = "PID.KEY=VALUE",
        description = "such as dev.polis.metrics.port=7940")
    List<String> assignments;

    @Option(
        names = "--dry-run",
        description = "only print the effects on the node, with their reasons")
    boolean dryRun;

    @Option(names = "--force", description = "even if the node was not well with it before")
    boolean force;

    @Override
    public Integer call() throws InterruptedException {
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
      return config.order(request.build(), spec);
    }
  }

  /** The end of a change. */
  @Command(
      name = "unset",
      description =
          "Takes keys back that were changed on the running node: the command line or the organ decides again.",
      mixinStandardHelpOptions = true)
  static final class UnsetCommand implements Callable<Integer> {
    @ParentCommand ConfigCommand config;
    @Spec CommandSpec spec;

    @Parameters(arity = "1..*", paramLabel = "PID.KEY", description = "which keys")
    List<String> names;

    @Override
    public Integer call() throws InterruptedException {
      ConfigureRequest.Builder request = ConfigureRequest.newBuilder();
      names.forEach(name -> request.addSettings(Setting.newBuilder().setName(name).setUnset(true)));
      return config.order(request.build(), spec);
    }
  }
}
