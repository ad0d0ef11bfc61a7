package dev.polis.handover.following;

import dev.polis.logtree.LogTree;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import org.apache.felix.framework.Felix;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceFactory;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;

/** Runs a framework in which contracts are followed, by default {@link Shelf}. */
final class TestFramework implements AutoCloseable {
  private final Felix framework;
  private final LocalFollowedServices services;
  final Bundle user;

  TestFramework(Path folder, FollowingLimits limits) throws BundleException, IOException {
    this(folder, limits, List.of(Shelf.class));
  }

  TestFramework(Path folder, FollowingLimits limits, List<Class<?>> contracts)
      throws BundleException, IOException {
    Map<String, Object> settings = new HashMap<>();
    settings.put(Constants.FRAMEWORK_STORAGE, folder.resolve("cache").toString());
    settings.put("felix.service.urlhandlers", "false");
    settings.put("felix.log.level", "1");
    settings.put(
        Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA,
        contracts.stream().map(Class::getPackageName).distinct().collect(Collectors.joining(",")));
    settings.put(
        Constants.FRAMEWORK_SYSTEMCAPABILITIES_EXTRA,
        contracts.stream()
            .map(contract -> "polis.followed;objectClass=\"" + contract.getName() + '"')
            .collect(Collectors.joining(",")));
    framework = new Felix(settings);
    framework.start();
    Bundle own = bundle("dev.polis.handover.following", "1.0.0");
    services =
        LocalFollowedServices.open(
            own.getBundleContext(),
            limits,
            LogTree.create().log("following"),
            InstantSource.system());
    user = bundle("user", "1.0.0");
  }

  /** Returns limits that no test reaches. */
  static FollowingLimits generous() {
    return new FollowingLimits(Duration.ofSeconds(60), Duration.ofSeconds(60));
  }

  /** Answers for the table of hand-overs. */
  LocalFollowedServices handOvers() {
    return services;
  }

  /** Registers a service whose object is made on demand, like a component's. */
  static ServiceRegistration<?> activate(Bundle provider, Supplier<Shelf> activation) {
    return provider
        .getBundleContext()
        .registerService(
            Shelf.class.getName(),
            new ServiceFactory<Shelf>() {
              @Override
              public Shelf getService(Bundle user, ServiceRegistration<Shelf> registration) {
                return activation.get();
              }

              @Override
              public void ungetService(
                  Bundle user, ServiceRegistration<Shelf> registration, Shelf shelf) {
                // There is nothing to end.
              }
            },
            new Hashtable<>());
  }

  FollowedServices services() {
    return services;
  }

  FollowedService status() {
    return services.all().peek().orElseThrow().getFirst();
  }

  Bundle system() {
    return framework;
  }

  /** Starts an empty bundle. */
  Bundle bundle(String name, String version) throws BundleException, IOException {
    return bundle(name, version, Map.of());
  }

  /** Starts a bundle with additional headers and some classes of these tests. */
  Bundle bundle(String name, String version, Map<String, String> more, Class<?>... classes)
      throws BundleException, IOException {
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue(Constants.BUNDLE_MANIFESTVERSION, "2");
    headers.putValue(Constants.BUNDLE_SYMBOLICNAME, name);
    headers.putValue(Constants.BUNDLE_VERSION, version);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    more.forEach(headers::putValue);
    try (JarOutputStream jar = new JarOutputStream(bytes, manifest)) {
      for (Class<?> each : classes) {
        String file = each.getName().replace('.', '/') + ".class";
        jar.putNextEntry(new ZipEntry(file));
        try (InputStream in = each.getClassLoader().getResourceAsStream(file)) {
          in.transferTo(jar);
        }
      }
    }
    Bundle bundle =
        framework
            .getBundleContext()
            .installBundle(name + ":" + version, new ByteArrayInputStream(bytes.toByteArray()));
    bundle.start();
    return bundle;
  }

  static ServiceRegistration<Shelf> provide(Bundle provider, Shelf shelf) {
    return provider.getBundleContext().registerService(Shelf.class, shelf, new Hashtable<>());
  }

  /** Returns the service that the user gets for the contract. */
  Shelf shelf() {
    return user.getBundleContext().getService(references(user).getFirst());
  }

  static List<ServiceReference<Shelf>> references(Bundle seeker) {
    try {
      return seeker.getBundleContext().getServiceReferences(Shelf.class, null).stream().toList();
    } catch (org.osgi.framework.InvalidSyntaxException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() throws BundleException {
    services.close();
    framework.stop();
    boolean interrupted = false;
    while (framework.getState() != Bundle.RESOLVED) {
      try {
        framework.waitForStop(0);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
