package dev.polis.curator;

import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustSource;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.Map;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/**
 * Registers the trusted keys as a service of this node as soon as they are known. Thread-safe. Its
 * close unregisters the service, and it ignores later keys.
 */
final class TrustRegistration implements CuratorService.Trust, TrustSource {

  private final BundleContext bundle;
  // The framework's threads read this without the lock.
  private volatile TrustRoots roots = TrustRoots.NONE;
  // Guarded by this.
  private ServiceRegistration<TrustSource> registration; // null until the first keys
  private boolean closed;

  TrustRegistration(BundleContext bundle) {
    this.bundle = bundle;
  }

  @Override
  public synchronized void accept(TrustRoots now) {
    roots = now;
    Dictionary<String, Object> properties = new Hashtable<>(Map.of("keys", now.keys().size()));
    if (registration == null && !closed) {
      registration = bundle.registerService(TrustSource.class, this, properties);
    } else if (registration != null) {
      // Notifies the users of the service about the new keys.
      registration.setProperties(properties);
    }
  }

  @Override
  public TrustRoots roots() {
    return roots;
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (registration == null) {
      return;
    }
    try {
      registration.unregister();
    } catch (IllegalStateException stopped) {
      // The framework has unregistered all services of a bundle that stopped.
    } finally {
      registration = null;
    }
  }
}
