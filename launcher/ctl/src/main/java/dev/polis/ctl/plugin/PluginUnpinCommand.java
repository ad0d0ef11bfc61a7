package dev.polis.ctl.plugin;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.UnwantPluginRequest;
import dev.polis.wire.cluster.WantedPlugin;
import java.util.List;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Makes the cluster want a plugin no more in one scope. */
@Command(
    name = "unpin",
    description = {
      "Undoes push or pin of a plugin. Then the wider scope decides: the role's, the cluster's, the"
          + " node's distribution. A node removes a plugin that none of them has.",
      "No option is necessary if only one scope wants it."
    })
final class PluginUnpinCommand extends SessionCommand {

  @Parameters(paramLabel = "NAME", description = "the plugin's symbolic name")
  String name;

  @ArgGroup PluginScopeOptions scope;

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    UnwantPluginRequest request =
        UnwantPluginRequest.newBuilder()
            .setScope(scope == null ? only(session) : scope.scope())
            .setSymbolicName(name)
            .build();
    WantedPlugin before = session.call(() -> session.pluginSet().unwantPlugin(request)).getBefore();
    return print(
        "%s %s, no longer wanted on %s"
            .formatted(
                before.getSymbolicName(),
                before.getVersion(),
                PluginScopeOptions.nodes(before.getScope())),
        PluginSetRows.WANTED.json(before));
  }

  /** Returns the one scope in which the plugin is wanted. */
  private PluginScope only(Session session) throws InterruptedException {
    List<PluginScope> scopes =
        PluginSetView.fetch(session).set().getWantedList().stream()
            .filter(each -> each.getSymbolicName().equals(name))
            .map(WantedPlugin::getScope)
            .toList();
    if (scopes.size() > 1) {
      throw new CtlException(
          ExitCode.USAGE,
          "several scopes want %s; choose one: %s"
              .formatted(name, scopes.stream().map(PluginUnpinCommand::option).toList()));
    }
    // The curator says what is wanted instead.
    return scopes.isEmpty() ? PluginScopeOptions.anywhere() : scopes.getFirst();
  }

  private static String option(PluginScope scope) {
    return "--" + PluginScopeOptions.words(scope);
  }
}
