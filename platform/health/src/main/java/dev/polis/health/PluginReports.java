package dev.polis.health;

import java.util.List;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Reports the status of the node's plugins: their running parts, their signer, and the effects of
 * swaps. It is a service of the node, usable from any thread.
 */
@ConsumerType
public interface PluginReports {

  /**
   * Returns the present status of the plugins.
   *
   * @return one status for each installed plugin, and for each one that a swap tried to install
   */
  List<PluginStatus> plugins();
}
