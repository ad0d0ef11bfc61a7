package dev.polis.plugins.graph;

import java.util.List;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Knows the contracts whose users have a proxy, which calls the present provider. It is a service
 * of the node, usable from any thread.
 */
@ConsumerType
public interface FollowedContractSource {

  /** The service property that distinguishes a proxy from its provider. */
  String PROXY = "polis.proxy";

  /** Returns the present state of each contract. */
  List<FollowedContract> contracts();
}
