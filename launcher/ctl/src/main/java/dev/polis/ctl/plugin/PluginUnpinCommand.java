package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.UnwantPluginRequest;
import dev.polis.wire.cluster.WantedPlugin;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Makes the cluster want a plugin no more in one scope. */
@Command(
    name = "unpin",
    description = {
      "Undoes push or pin of a plugin. Then the wider scope decides: the role's, the cluster's, the node's"
          + " distribution. A node removes a plugin that none of them has.",
      "No option is necessary if only one scope wants it."
    },
    mixinStandardHelpOptions = true)
final class PluginUnpinCommand implements Callable<Integer> {
  @ParentCommand PluginCommand plugin;
  @Spec CommandSpec spec;

  @Parameters(paramLabel = "NAME", description = "the plugin's symbolic name")
  String name;

  @ArgGroup PluginScopeOptions scope;

  @Override
  public Integer call() throws InterruptedException {
    try (Session session = Session.open(plugin.ctl.options)) {
      UnwantPluginRequest request =
          UnwantPluginRequest.newBuilder()
              .setScope(scope == null ? only(session) : scope.scope())
              .setSymbolicName(name)
              .build();
      WantedPlugin before =
          session.call(() -> session.pluginSet().unwantPlugin(request).getBefore());
      JsonObject row = PluginSetRows.of(before);
      plugin.print(
          row,
          "%s %s, no longer wanted on %s"
              .formatted(
                  before.getSymbolicName(),
                  before.getVersion(),
                  PluginScopeOptions.words(before.getScope()).replace("everywhere", "each node")),
          spec);
      return ExitCode.OK.code();
    }
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
