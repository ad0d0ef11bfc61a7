package dev.polis.health;

import java.util.Map;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Reads from the plugin manifests which installed bundles provide organs and roles. It is a service
 * of the node, usable from any thread.
 */
@ConsumerType
public interface PluginDirectory {

  /**
   * Returns the organs and roles of each installed plugin.
   *
   * @return the organs and roles by the number of the bundle in the framework, without bundles that
   *     provide none
   */
  Map<Long, PluginStatus.Provided> provided();
}
