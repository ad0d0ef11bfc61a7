package dev.polis.plugins.manifest;

import org.osgi.annotation.versioning.ConsumerType;

/** Gives the keys that the cluster trusts at the moment. Usable from any thread. */
@ConsumerType
public interface TrustSource {

  /** Returns the keys that the cluster trusted when this node last heard of them. */
  TrustRoots roots();
}
