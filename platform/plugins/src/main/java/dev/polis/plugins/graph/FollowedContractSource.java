package dev.polis.plugins.graph;

import java.util.List;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Knows the contracts whose users have a proxy, which follows the present provider. It is a service
 * of the node, usable from any thread.
 */
@ConsumerType
public interface FollowedContractSource {

  /** The service property of a proxy, which tells it from the service of its provider. */
  String PROXY = "polis.proxy";

  /** Returns how each contract stands at this moment. */
  List<FollowedContract> contracts();
}
