package dev.polis.node;

import java.util.Map;
import org.apache.felix.framework.Felix;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.BundleListener;

/**
 * Removes each uninstalled bundle from the framework's table of bundles and the services they use.
 *
 * <p>Felix 7.0.5 keeps a bundle in that table until every service that it has ever used is
 * unregistered. Services of the platform stay as long as the process, so each replaced version of
 * an organ would stay in memory with its manifest and the index of its file: about 250 KB for each
 * swap of the curator. Felix has no method that removes the entry, so this does it by reflection.
 */
final class UninstalledBundles implements BundleListener {
  private final Map<?, ?> used;

  private UninstalledBundles(Map<?, ?> used) {
    this.used = used;
  }

  /**
   * Begins to remove the bundles of a framework that are uninstalled from now on. It ends with the
   * framework.
   *
   * @param felix the framework, started
   */
  static void removeFrom(Felix felix) {
    Object registry = field(felix, "m_registry");
    felix
        .getBundleContext()
        .addBundleListener(new UninstalledBundles((Map<?, ?>) field(registry, "m_inUseMap")));
  }

  private static Object field(Object owner, String name) {
    try {
      var field = owner.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return field.get(owner);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "%s has no field %s in this version of Felix; look whether uninstalled bundles still stay in its table of used services, and adapt or delete %s"
              .formatted(owner.getClass().getName(), name, UninstalledBundles.class.getName()),
          e);
    }
  }

  @Override
  public void bundleChanged(BundleEvent event) {
    if (event.getType() == BundleEvent.UNINSTALLED) {
      used.remove(event.getBundle());
    }
  }
}
