package dev.polis.curator;

import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustSource;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.Map;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/**
 * Offers the trusted keys to this node as a service, as soon as they are known. Thread-safe.
 * Closing it unregisters the service; later keys are ignored.
 */
final class TrustRegistration implements CuratorService.Trust, TrustSource {

  private final BundleContext bundle;
  // Any thread that gets a notification of the service reads this without the lock.
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
      // Notifies the users of the service of the new keys.
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
    if (registration != null) {
      registration.unregister();
      registration = null;
    }
  }
}
