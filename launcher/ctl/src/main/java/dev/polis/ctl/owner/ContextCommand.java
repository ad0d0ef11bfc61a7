package dev.polis.ctl.owner;

import dev.polis.ctl.session.Contexts;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Subcommands;
import java.nio.file.Path;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Groups the commands for this operator's contexts. */
@Command(name = "context", description = "Keeps the clusters this operator knows.")
@Subcommands({
  ContextCommand.ListCommand.class,
  ContextCommand.AddCommand.class,
  ContextCommand.UseCommand.class
})
public final class ContextCommand {

  /** All contexts. */
  @Command(name = "list", description = "Lists contexts.")
  static final class ListCommand extends CtlCommand {
    @Override
    protected ExitCode run() {
      Contexts contexts = Contexts.load(options().configFolder());
      return print(
          new Rows<Map.Entry<String, String>>()
              .column("NAME", "name", Map.Entry::getKey)
              .column("ENDPOINT", "endpoint", Map.Entry::getValue)
              .column("CURRENT", "current", each -> each.getKey().equals(contexts.current()))
              .document(contexts.endpoints().entrySet()));
    }
  }

  /** Adds one and makes it the current one. */
  @Command(name = "add", description = "Adds a cluster and makes it the current one.")
  static final class AddCommand extends CtlCommand {
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
    protected ExitCode run() {
      if (!name.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,62}")) {
        throw new CtlException(
            ExitCode.USAGE,
            "\"%s\" cannot name a context; use letters, digits, '.', '_' and '-'".formatted(name));
      }
      if (host.isBlank() || host.contains("/")) {
        throw new CtlException(
            ExitCode.USAGE, "\"%s\" is not a host; give an address or a name".formatted(host));
      }
      Contexts contexts = Contexts.load(options().configFolder()).with(name, host);
      Path file = contexts.target(name).ownerKey();
      if (ownerKey != null) {
        OwnerKeyFile.copy(ownerKey, file);
      }
      contexts.save();
      out()
          .printf(
              "Context %s is current. %s: %s%n",
              name,
              ownerKey == null ? "Put the owner's key at " + file + ", then" : "Next",
              options().command("takeownership"));
      return ExitCode.OK;
    }
  }

  /** Chooses one. */
  @Command(name = "use", description = "Makes a context the current one.")
  static final class UseCommand extends CtlCommand {
    @Parameters(paramLabel = "NAME", description = "which one")
    String name;

    @Override
    protected ExitCode run() {
      Contexts.load(options().configFolder()).choosing(name).save();
      out().printf("Context %s is current.%n", name);
      return ExitCode.OK;
    }
  }
}
