package dev.polis.plugins.manifest;

import org.osgi.annotation.versioning.ConsumerType;

/** Supplies the keys that the cluster trusts now. Usable from any thread. */
@ConsumerType
public interface TrustSource {

  /** Returns the last keys that this node received from the cluster. */
  TrustRoots roots();
}
