package dev.polis.plugins.swap;

import dev.polis.health.HealthRegistry;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.PluginStore;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.osgi.framework.BundleContext;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.runtime.ServiceComponentRuntime;

/**
 * Holds the parts of the node that the swap engine uses.
 *
 * @param context the context of a permanent bundle
 * @param store the node's plugins and generations
 * @param check verifies new bundles
 * @param health the node's health table
 * @param own publishes the facts about plugins there
 * @param components the state of components
 * @param configurations the configurations of organs
 * @param commandLine the configurations of the command line
 * @param listeners supplies the listeners of swaps, for each announcement
 * @param children supplies descriptions of the node's child processes
 * @param audit receives a line for each swap that begins or ends
 */
public record SwapParts(
    BundleContext context,
    PluginStore store,
    PluginCheck check,
    HealthRegistry health,
    PluginsHealth own,
    ServiceComponentRuntime components,
    ConfigurationAdmin configurations,
    ConfigurationSet commandLine,
    Supplier<List<SwapListener>> listeners,
    Supplier<List<String>> children,
    Audit audit) {

  /** Receives lines about swaps, for the log. */
  @FunctionalInterface
  public interface Audit {
    /**
     * Receives one line.
     *
     * @param line a text for people
     */
    void note(String line);
  }

  public SwapParts {
    Objects.requireNonNull(context, "context");
    Objects.requireNonNull(store, "store");
    Objects.requireNonNull(check, "check");
    Objects.requireNonNull(health, "health");
    Objects.requireNonNull(own, "own");
    Objects.requireNonNull(components, "components");
    Objects.requireNonNull(configurations, "configurations");
    Objects.requireNonNull(commandLine, "commandLine");
    Objects.requireNonNull(listeners, "listeners");
    Objects.requireNonNull(children, "children");
    Objects.requireNonNull(audit, "audit");
  }
}
