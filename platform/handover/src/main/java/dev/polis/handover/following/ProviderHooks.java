package dev.polis.handover.following;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceEvent;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.hooks.service.EventListenerHook;
import org.osgi.framework.hooks.service.FindHook;
import org.osgi.framework.hooks.service.ListenerHook.ListenerInfo;

/**
 * Hides the providers of followed contracts from the bundles that look for one by its name, so that
 * they find its proxy. A provider that has other services too is found by those.
 */
final class ProviderHooks implements FindHook, EventListenerHook {
  private final Bundle own;
  private final Collection<ServiceFollower> followers;

  /**
   * @param own the bundle that registers the proxies, which sees the providers
   * @param followers of the contracts of the moment; others may be added by any thread
   */
  ProviderHooks(Bundle own, Collection<ServiceFollower> followers) {
    this.own = own;
    this.followers = followers;
  }

  @Override
  public void find(
      BundleContext context,
      String name,
      String filter,
      boolean allServices,
      Collection<ServiceReference<?>> references) {
    references.removeIf(
        reference ->
            hidden(reference, context.getBundle())
                && followed(reference).stream()
                    .anyMatch(contract -> contract.equals(name) || names(filter, contract)));
  }

  @Override
  public void event(ServiceEvent event, Map<BundleContext, Collection<ListenerInfo>> listeners) {
    ServiceReference<?> reference = event.getServiceReference();
    List<String> followed = followed(reference);
    if (followed.isEmpty()) {
      return;
    }
    listeners.forEach(
        (context, infos) -> {
          if (hidden(reference, context.getBundle())) {
            infos.removeIf(
                info -> followed.stream().anyMatch(contract -> names(info.getFilter(), contract)));
          }
        });
  }

  /** The contracts of a service that are followed. */
  private List<String> followed(ServiceReference<?> reference) {
    return Arrays.stream((String[]) reference.getProperty(Constants.OBJECTCLASS))
        .filter(contract -> followers.stream().anyMatch(each -> each.follows(contract, reference)))
        .toList();
  }

  private boolean hidden(ServiceReference<?> reference, Bundle seeker) {
    Bundle provider = reference.getBundle();
    return seeker.getBundleId() != Constants.SYSTEM_BUNDLE_ID
        && !seeker.equals(own)
        && provider != null
        && !provider.equals(own)
        && !provider.equals(seeker);
  }

  /** Returns whether a filter asks for a contract by its name. */
  private static boolean names(String filter, String contract) {
    return filter != null
        && filter.contains("=" + contract + ")")
        && filter.toLowerCase(Locale.ROOT).contains("(objectclass=");
  }
}
