package dev.polis.curator;

import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustSource;
import java.util.function.Consumer;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/**
 * Offers the trusted keys to this node as a service, as soon as they are known. Thread-safe.
 * Closing it unregisters the service; later keys are ignored.
 */
final class TrustRegistration implements Consumer<TrustRoots>, TrustSource, AutoCloseable {

  private final BundleContext bundle;
  // Guarded by this.
  private ServiceRegistration<TrustSource> registration; // null until the first keys
  private TrustRoots roots = TrustRoots.NONE;
  private boolean closed;

  TrustRegistration(BundleContext bundle) {
    this.bundle = bundle;
  }

  @Override
  public synchronized void accept(TrustRoots now) {
    roots = now;
    if (registration == null && !closed) {
      registration = bundle.registerService(TrustSource.class, this, null);
    }
  }

  @Override
  public synchronized TrustRoots roots() {
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
