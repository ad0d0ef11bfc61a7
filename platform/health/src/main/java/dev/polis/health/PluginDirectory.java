package dev.polis.health;

import java.util.Map;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Knows by the plugin manifests which installed bundles provide organs and roles. It is a service
 * of the node, usable from any thread.
 */
@ConsumerType
public interface PluginDirectory {

  /**
   * Returns what each installed plugin provides.
   *
   * @return by the number of its bundle in the framework; bundles that provide nothing are missing
   */
  Map<Long, PluginStatus.Provided> provided();
}
