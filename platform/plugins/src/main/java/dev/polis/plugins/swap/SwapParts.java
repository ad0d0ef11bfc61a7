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
 * What the swap engine works with.
 *
 * @param context of a bundle that stays
 * @param store the node's plugins and generations
 * @param check verifies bundles that come
 * @param health the node's health table
 * @param own the place in it of the plugins as a whole
 * @param components the state of components
 * @param configurations the configurations of organs
 * @param commandLine the configurations the process was started with
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

  /** Receives what happened, for the log. */
  @FunctionalInterface
  public interface Audit {
    /**
     * Receives one line.
     *
     * @param line a text for people
     */
    void note(String line);
  }

  /** Refuses what is missing. */
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
