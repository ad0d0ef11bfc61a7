package dev.polis.ctl.session;

import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** Declares the options that every command has. */
@Command
public final class CtlOptions {

  @Option(
      names = {"-o", "--output"},
      scope = ScopeType.INHERIT,
      description = "table, wide, json or yaml; dot for a graph (default: ${DEFAULT-VALUE})")
  public Output output = Output.table;

  @Option(
      names = "--state",
      scope = ScopeType.INHERIT,
      paramLabel = "DIR",
      description =
          "state directory of a node on this machine; its owner's files and address are used"
              + " (default: $POLIS_STATE or .polis/node if it exists and no context is selected)")
  public Path state;

  @Option(
      names = "--context",
      scope = ScopeType.INHERIT,
      paramLabel = "NAME",
      description =
          "cluster to talk to (default: the current one, see '${ROOT-COMMAND-NAME} context')")
  String context;

  @Option(
      names = "--endpoint",
      scope = ScopeType.INHERIT,
      paramLabel = "HOST",
      description = "address of a node, instead of the one the context or state directory names")
  public String endpoint;

  @Option(
      names = "--config",
      scope = ScopeType.INHERIT,
      paramLabel = "DIR",
      description = "folder of contexts (default: $XDG_CONFIG_HOME/polis or ~/.config/polis)")
  public Path config;

  @Option(
      names = "--timeout",
      scope = ScopeType.INHERIT,
      paramLabel = "SECONDS",
      description = "how long to wait for an answer (default: ${DEFAULT-VALUE})")
  int timeout = 15;

  public Path configFolder() {
    if (config != null) {
      return config;
    }
    String xdg = System.getenv("XDG_CONFIG_HOME");
    Path base =
        xdg == null || xdg.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".config")
            : Path.of(xdg);
    return base.resolve("polis");
  }

  /** Refuses a number of an option that is too small to mean anything. */
  public static void requireAtLeast(long least, long given, String option) {
    if (given < least) {
      throw new CtlException(
          ExitCode.USAGE, "%s %d makes no sense; give %d or more".formatted(option, given, least));
    }
  }

  /**
   * Returns a command for the same cluster, to be pasted.
   *
   * @param words what comes after the options
   */
  public String command(String words) {
    StringBuilder line = new StringBuilder(CtlName.called());
    append(line, "--config", config);
    append(line, "--state", state);
    append(line, "--context", context);
    append(line, "--endpoint", endpoint);
    return line.append(' ').append(words).toString();
  }

  private static void append(StringBuilder line, String option, Object value) {
    if (value != null) {
      line.append(' ').append(option).append(' ').append(CtlName.quoted(value));
    }
  }

  /** Decides whose cluster is meant: what was said, then the current context, then a node here. */
  public CtlTarget target() {
    CtlTarget target = named();
    return endpoint == null ? target : target.at(endpoint);
  }

  private CtlTarget named() {
    if (state != null && context != null) {
      throw new CtlException(
          ExitCode.USAGE,
          "--state %s and --context %s name two clusters; give one of them"
              .formatted(state, context));
    }
    if (state != null) {
      return CtlTarget.ofState(state);
    }
    Contexts contexts = Contexts.load(configFolder());
    return context != null ? contexts.target(context) : byDefault(contexts);
  }

  private CtlTarget byDefault(Contexts contexts) {
    if (contexts.hasCurrent()) {
      return contexts.target(contexts.current());
    }
    Path here = Path.of(System.getenv().getOrDefault("POLIS_STATE", ".polis/node"));
    if (Files.isDirectory(here)) {
      return CtlTarget.ofState(here);
    }
    if (endpoint != null) {
      return CtlTarget.ofFolder("default", configFolder().resolve("default"), endpoint);
    }
    throw new CtlException(
        ExitCode.USAGE,
        "no cluster is named: %s does not exist and there is no current context in %s; give --state"
                .formatted(here, configFolder())
            + " DIR, --context NAME or --endpoint HOST");
  }
}
