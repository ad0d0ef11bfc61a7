package dev.polis.health;

import java.util.List;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Reports how the plugins of the node stand: what runs, who vouches for it, and what swaps have
 * done to it. It is a service of the node, usable from any thread.
 */
@ConsumerType
public interface PluginReports {

  /**
   * Returns how plugins stand at this moment.
   *
   * @return one status for each installed plugin, and for each one that a swap tried to bring in
   */
  List<PluginStatus> plugins();
}
