package dev.polis.ctl.owner;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.Contexts;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.ctl.session.Subcommands;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Groups the commands for this operator's contexts. */
@Command(
    name = "context",
    description = "Keeps the clusters this operator knows.",
    mixinStandardHelpOptions = true)
@Subcommands({
  ContextCommand.ListCommand.class,
  ContextCommand.AddCommand.class,
  ContextCommand.UseCommand.class
})
public final class ContextCommand {

  @ParentCommand CtlRoot ctl;

  private Contexts load() {
    return Contexts.load(ctl.options.configFolder());
  }

  /** All contexts. */
  @Command(name = "list", description = "Lists contexts.", mixinStandardHelpOptions = true)
  static final class ListCommand implements Callable<Integer> {
    @ParentCommand ContextCommand context;
    @Spec CommandSpec spec;

    @Override
    public Integer call() {
      Contexts contexts = context.load();
      JsonArray rows = new JsonArray();
      contexts
          .endpoints()
          .forEach(
              (name, endpoint) -> {
                JsonObject row = new JsonObject();
                row.addProperty("name", name);
                row.addProperty("endpoint", endpoint);
                row.addProperty("current", name.equals(contexts.current()));
                rows.add(row);
              });
      context.ctl.options.output.print(
          Document.rows(
              rows,
              Column.of("NAME", "name"),
              Column.of("ENDPOINT", "endpoint"),
              Column.of("CURRENT", "current")),
          spec.commandLine().getOut());
      return ExitCode.OK.code();
    }
  }

  /** Adds one and makes it the current one. */
  @Command(
      name = "add",
      description = "Adds a cluster and makes it the current one.",
      mixinStandardHelpOptions = true)
  static final class AddCommand implements Callable<Integer> {
    @ParentCommand ContextCommand context;
    @Spec CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "its name")
    String name;

    @Parameters(index = "1", paramLabel = "HOST", description = "address of one of its nodes")
    String host;

    @Option(
        names = "--owner-key",
        paramLabel = "FILE",
        description = {
          "the owner's key, which is copied to the context's folder: PEM, PKCS #8 or",
          "METROPOLIS INITIAL OWNER PRIVATE KEY"
        })
    Path ownerKey;

    @Override
    public Integer call() {
      if (!name.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,62}")) {
        throw new CtlException(
            ExitCode.USAGE,
            "\"%s\" cannot name a context; use letters, digits, '.', '_' and '-'".formatted(name));
      }
      if (host.isBlank() || host.contains("/")) {
        throw new CtlException(
            ExitCode.USAGE, "\"%s\" is not a host; give an address or a name".formatted(host));
      }
      Contexts contexts = context.load().with(name, host);
      Path file = contexts.target(name).ownerKey();
      if (ownerKey != null) {
        OwnerKeyFile.copy(ownerKey, file);
      }
      contexts.save();
      spec.commandLine()
          .getOut()
          .printf(
              "Context %s is current. %s: %s%n",
              name,
              ownerKey == null ? "Put the owner's key at " + file + ", then" : "Next",
              context.ctl.options.command("takeownership"));
      return ExitCode.OK.code();
    }
  }

  /** Chooses one. */
  @Command(
      name = "use",
      description = "Makes a context the current one.",
      mixinStandardHelpOptions = true)
  static final class UseCommand implements Callable<Integer> {
    @ParentCommand ContextCommand context;
    @Spec CommandSpec spec;

    @Parameters(paramLabel = "NAME", description = "which one")
    String name;

    @Override
    public Integer call() {
      context.load().choosing(name).save();
      spec.commandLine().getOut().printf("Context %s is current.%n", name);
      return ExitCode.OK.code();
    }
  }
}
