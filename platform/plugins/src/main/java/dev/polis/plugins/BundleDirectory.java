package dev.polis.plugins;

import io.grpc.Status;
import io.grpc.StatusException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;

/** Finds bundles by name and knows which of them may move. */
final class BundleDirectory {
  private static final String OURS = "dev.polis.";

  private final BundleContext context;

  BundleDirectory(BundleContext context) {
    this.context = context;
  }

  List<Bundle> all() {
    return List.of(context.getBundles());
  }

  /**
   * @param name a symbolic name, or {@code name:version} where several versions are installed
   * @return the one bundle of that name
   * @throws StatusException INVALID_ARGUMENT, NOT_FOUND; in words
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
   * @param name of the bundle to move
   * @return the bundle, which is an organ
   * @throws StatusException also FAILED_PRECONDITION for what belongs to the platform
   */
  Bundle organ(String name) throws StatusException {
    Bundle bundle = named(name);
    if (!isOrgan(bundle)) {
      throw Status.FAILED_PRECONDITION
          .withDescription(
              bundle.getSymbolicName()
                  + " belongs to the platform, which stands still while the node runs: stopping it would stop every organ that uses its classes. Restart the node"
                  + " to change it. Organs that may be stopped: "
                  + organs())
          .asException();
    }
    return bundle;
  }

  /**
   * Returns whether a bundle is an organ of ours: it exports nothing, while a bundle that exports
   * packages carries others.
   */
  private static boolean isOrgan(Bundle bundle) {
    String name = bundle.getSymbolicName();
    return name != null
        && name.startsWith(OURS)
        && bundle.getHeaders("").get(Constants.EXPORT_PACKAGE) == null;
  }

  private String organs() {
    return Arrays.stream(context.getBundles())
        .filter(BundleDirectory::isOrgan)
        .map(Bundle::getSymbolicName)
        .sorted()
        .distinct()
        .collect(Collectors.joining(", "));
  }

  private static String versioned(Bundle bundle) {
    return bundle.getSymbolicName() + ":" + bundle.getVersion();
  }
}
