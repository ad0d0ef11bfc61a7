package dev.polis.plugins;

import dev.polis.plugins.manifest.BundlePlugin;
import io.grpc.Status;
import io.grpc.StatusException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;

/** Finds bundles by name, and decides which of them an operator may move. */
final class BundleDirectory {
  private final BundleContext context;

  BundleDirectory(BundleContext context) {
    this.context = context;
  }

  List<Bundle> all() {
    return List.of(context.getBundles());
  }

  /**
   * @param name a symbolic name, or {@code name:version} if several versions are installed
   * @return the one bundle of that name
   * @throws StatusException INVALID_ARGUMENT or NOT_FOUND, with a message for people
   */
  Bundle named(String name) throws StatusException {
    if (name.isBlank()) {
      throw Status.INVALID_ARGUMENT
          .withDescription("symbolic_name is empty: name one bundle, the list shows all")
          .asException();
    }
    List<Bundle> found =
        all().stream()
            .filter(
                bundle -> name.equals(bundle.getSymbolicName()) || name.equals(versioned(bundle)))
            .toList();
    List<Bundle> present =
        found.stream().filter(bundle -> bundle.getState() != Bundle.STOPPING).toList();
    if (present.size() == 1) {
      // The other bundles were replaced, and hang while they stop.
      return present.getFirst();
    }
    if (found.isEmpty()) {
      throw Status.NOT_FOUND
          .withDescription("no bundle is named \"" + name + "\"; organs are " + organs())
          .asException();
    }
    if (found.size() > 1) {
      String versions =
          found.stream().map(BundleDirectory::versioned).collect(Collectors.joining(", "));
      throw Status.INVALID_ARGUMENT
          .withDescription(
              "several versions of \"" + name + "\" are installed, name one of " + versions)
          .asException();
    }
    return found.getFirst();
  }

  /**
   * Finds a bundle that an operator may move.
   *
   * @param name the name of the bundle
   * @return the bundle, which provides an organ or a role
   * @throws StatusException also FAILED_PRECONDITION for a bundle that provides neither
   */
  Bundle organ(String name) throws StatusException {
    Bundle bundle = named(name);
    return switch (BundlePlugin.of(bundle)) {
      case BundlePlugin.Organ organ -> bundle;
      case BundlePlugin.Library library ->
          throw refusal(
              bundle.getSymbolicName()
                  + " belongs to the platform, which stands still while the node runs: stopping it would stop every organ that uses its classes. To change it needs a new process: polisctl node restart --runtime.");
      case BundlePlugin.Undescribed undescribed ->
          throw refusal(
              "nothing says that %s is an organ or a role: %s; %s."
                  .formatted(bundle.getSymbolicName(), undescribed.why(), undescribed.remedy()));
    };
  }

  /**
   * Refuses to remove a bundle of the distribution.
   *
   * @param name the name of the bundle
   * @throws StatusException also FAILED_PRECONDITION for a bundle of the distribution
   */
  void requireOutsider(String name) throws StatusException {
    Bundle bundle = named(name);
    if (BundlePlugin.isOfDistribution(bundle)) {
      throw Status.FAILED_PRECONDITION
          .withDescription(
              "%s came with the node's distribution, which stays whole; \"polisctl bundle stop %1$s\" stops it until the next start"
                  .formatted(bundle.getSymbolicName()))
          .asException();
    }
  }

  private StatusException refusal(String why) {
    String organs = organs();
    return Status.FAILED_PRECONDITION
        .withDescription(organs.isEmpty() ? why : why + " Organs that may be stopped: " + organs)
        .asException();
  }

  private String organs() {
    return Arrays.stream(context.getBundles())
        .filter(bundle -> BundlePlugin.of(bundle) instanceof BundlePlugin.Organ)
        .map(Bundle::getSymbolicName)
        .sorted()
        .distinct()
        .collect(Collectors.joining(", "));
  }

  private static String versioned(Bundle bundle) {
    return bundle.getSymbolicName() + ":" + bundle.getVersion();
  }
}
