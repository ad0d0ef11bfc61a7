package dev.polis.health.component;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthStatus;
import dev.polis.health.PluginDirectory;
import dev.polis.health.PluginStatus;
import dev.polis.health.PluginStatus.Provided;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.SupervisionTree;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import org.apache.felix.framework.Felix;
import org.apache.felix.scr.impl.Activator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.runtime.ServiceComponentRuntime;

/**
 * Runs organs in a real framework with real Declarative Services. Their components are classes of
 * Java itself, so that a bundle only has headers and descriptions.
 */
@Timeout(60)
final class HealthComponentTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir Path folder;
  private Felix framework;
  private SupervisionTree tree;
  private final Map<String, String> organs =
      new ConcurrentHashMap<>(
          Map.of(
              "dev.polis.storage", "storage",
              "dev.polis.curator", "curator",
              "dev.polis.roles", "roles"));
  private HealthComponent health;

  @BeforeEach
  void start() throws Exception {
    Map<String, Object> settings = new HashMap<>();
    settings.put(Constants.FRAMEWORK_STORAGE, folder.resolve("cache").toString());
    settings.put(
        Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA,
        "org.osgi.service.component;version=1.5.1,org.osgi.service.component.runtime;version=1.5,"
            + "org.osgi.service.component.runtime.dto;version=1.5,org.osgi.util.promise;version=1.3.0,"
            + "org.osgi.util.function;version=1.2.0");
    settings.put("felix.service.urlhandlers", "false");
    settings.put("felix.log.level", "0");
    settings.put("ds.loglevel", "0");
    framework = new Felix(settings);
    framework.start();
    BundleContext context = framework.getBundleContext();
    String scr =
        Activator.class.getProtectionDomain().getCodeSource().getLocation().toURI().toString();
    context.installBundle("reference:" + scr).start();
    ServiceReference<ServiceComponentRuntime> runtime =
        context.getServiceReference(ServiceComponentRuntime.class);
    tree = SupervisionTree.open(LogTree.create());
    context.registerService(PluginDirectory.class, this::provided, null);
    health = new HealthComponent(context, tree, context.getService(runtime));
  }

  /** Stands for the manifests, since a bundle's name does not declare its organ. */
  private Map<Long, Provided> provided() {
    Map<Long, Provided> provided = new HashMap<>();
    for (Bundle bundle : framework.getBundleContext().getBundles()) {
      String organ = organs.get(bundle.getSymbolicName());
      if (organ != null) {
        provided.put(bundle.getBundleId(), new Provided(Set.of(organ), Set.of()));
      }
    }
    return provided;
  }

  @AfterEach
  void stop() throws Exception {
    health.close();
    tree.close();
    framework.stop();
    framework.waitForStop(0);
  }

  /** Describes a component that provides a service and needs others. */
  private record Part(String implementation, String gives, List<String> needs, String more) {
    Part(String implementation, String gives, List<String> needs) {
      this(implementation, gives, needs, "");
    }

    /** Describes a component whose constructor takes the one service that it needs. */
    static Part taking(String need, String implementation, String gives) {
      return new Part(implementation, gives, List.of(need), "init=\"1\"");
    }

    String description(String name) {
      StringBuilder text = new StringBuilder();
      text.append("<scr:component xmlns:scr=\"http://www.osgi.org/xmlns/scr/v1.4.0\" name=\"")
          .append(name)
          .append("\" immediate=\"true\" ")
          .append(more)
          .append("><implementation class=\"")
          .append(implementation)
          .append("\"/>");
      if (!gives.isEmpty()) {
        text.append("<service><provide interface=\"").append(gives).append("\"/></service>");
      }
      String place = more.startsWith("init") ? "\" parameter=\"0" : "";
      needs.forEach(
          need ->
              text.append("<reference name=\"r\" interface=\"")
                  .append(need)
                  .append(place)
                  .append("\"/>"));
      return text.append("</scr:component>").toString();
    }
  }

  private static final Part DISK = new Part("java.lang.Thread", "java.lang.Runnable", List.of());
  private static final Part BROKEN =
      new Part("java.util.Optional", "java.lang.Runnable", List.of());

  /** A component whose activation throws, since a thread may not notify without the monitor. */
  private static final Part FAILING =
      new Part("java.lang.Thread", "java.lang.Runnable", List.of(), "activate=\"notify\"");

  private static final Part RECORDS =
      new Part("java.util.ArrayList", "java.util.List", List.of("java.lang.Runnable"));
  private static final Part ROLES = new Part("java.lang.Object", "", List.of("java.util.List"));

  /** Components that get the object of the service, as organs do. */
  private static final Part TAKING_DISK =
      Part.taking("java.lang.Runnable", "java.lang.Thread", "java.util.concurrent.Callable");

  private static final Part TAKING_RECORDS =
      Part.taking("java.util.concurrent.Callable", "java.util.concurrent.FutureTask", "");

  private Bundle install(String name, Part part) throws Exception {
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", name);
    headers.putValue("Service-Component", "component.xml");
    if (!part.gives().isEmpty()) {
      headers.putValue(
          "Provide-Capability",
          "osgi.service;objectClass:List<String>=\"%s\"".formatted(part.gives()));
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JarOutputStream jar = new JarOutputStream(bytes, manifest)) {
      jar.putNextEntry(new JarEntry("component.xml"));
      jar.write(part.description(name).getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new AssertionError("memory does not fail to be written to", e);
    }
    return framework
        .getBundleContext()
        .installBundle(name, new ByteArrayInputStream(bytes.toByteArray()));
  }

  private HealthStatus await(String organ, String code) throws Exception {
    return Await.value(
            health.all(),
            all ->
                all.stream()
                    .anyMatch(each -> each.name().equals(organ) && each.code().equals(code)),
            PATIENCE,
            organ + " to be " + code)
        .stream()
        .filter(each -> each.name().equals(organ))
        .findFirst()
        .orElseThrow();
  }

  @Test
  @DisplayName("an organ that was never started has not been started yet")
  void neverStarted() throws Exception {
    install("dev.polis.storage", DISK);
    assertEquals(HealthLevel.WAITING, await("storage", "not-started").level());
  }

  @Test
  @DisplayName(
      "an organ that was started and stopped is DOWN, stopped by hand, with the command that starts it")
  void stoppedByHand() throws Exception {
    Bundle disk = install("dev.polis.storage", DISK);
    disk.start();
    await("storage", "not-activated");
    disk.stop();

    HealthStatus status = await("storage", "stopped");

    assertEquals(HealthLevel.DOWN, status.level());
    assertEquals("bundle dev.polis.storage was stopped by hand", status.reason());
    assertTrue(status.remedy().contains("bundle start dev.polis.storage"), status.remedy());
  }

  @Test
  @DisplayName("an organ is present from the opening of its scope until it closes the scope")
  void presentOrgan() throws Exception {
    install("dev.polis.storage", DISK).start();
    try (var scope = health.organ("storage", "")) {
      assertEquals(HealthLevel.UP, await("storage", "up").level());
      assertEquals(1, health.all().peek().orElseThrow().size(), scope::toString);
    }
    await("storage", "not-activated");
  }

  @Test
  @DisplayName(
      "an organ without its service is WAITING, and names the provider and the reason of its absence")
  void missingService() throws Exception {
    Bundle disk = install("dev.polis.storage", DISK);
    disk.start();
    install("dev.polis.curator", RECORDS).start();
    await("curator", "not-activated");
    disk.stop();

    HealthStatus status = await("curator", "service-missing");

    assertEquals(HealthLevel.WAITING, status.level());
    assertEquals(
        "dev.polis.curator waits for java.lang.Runnable, which dev.polis.storage provides:"
            + " dev.polis.storage is stopped",
        status.reason());
  }

  @Test
  @DisplayName("the root cause of a chain of organs is named once, at its end")
  void chainOfMissingServices() throws Exception {
    install("dev.polis.storage", BROKEN).start();
    install("dev.polis.curator", TAKING_DISK).start();
    install("dev.polis.roles", TAKING_RECORDS).start();

    HealthStatus root = await("storage", "activation-failed");
    HealthStatus end = await("roles", "service-missing");

    assertEquals(HealthLevel.DOWN, root.level());
    assertTrue(
        end.reason()
            .startsWith(
                "dev.polis.roles waits for java.util.concurrent.Callable, which dev.polis.curator provides:"
                    + " dev.polis.storage could not be activated: "),
        end.reason());
    assertEquals(Set.of("curator"), health.needs("roles"));
    assertEquals(Set.of("storage"), health.needs("curator"));
    assertEquals(Set.of(), health.needs("nonsense"));
  }

  @Test
  @DisplayName("organs that need one whose activation failed name it with the reason")
  void activationFailed() throws Exception {
    install("dev.polis.storage", FAILING).start();
    install("dev.polis.curator", TAKING_DISK).start();
    install("dev.polis.roles", TAKING_RECORDS).start();

    HealthStatus root = await("storage", "activation-failed");
    assertEquals(HealthLevel.DOWN, root.level());
    assertTrue(root.reason().contains("current thread is not owner"), root.reason());
    assertTrue(
        framework.getBundleContext().getServiceReference(Runnable.class.getName()) != null,
        "the service of the failed component is registered, which is the case to be tested");
    String why = "dev.polis.storage could not be activated: current thread is not owner";
    HealthStatus next = await("curator", "service-missing");
    assertEquals(HealthLevel.WAITING, next.level());
    assertEquals(
        "dev.polis.curator waits for java.lang.Runnable, which dev.polis.storage provides: " + why,
        next.reason());
    assertEquals(
        "dev.polis.roles waits for java.util.concurrent.Callable, which dev.polis.curator provides: "
            + why,
        await("roles", "service-missing").reason());
  }

  @Test
  @DisplayName("a service that no installed bundle provides is named as such")
  void nobodyProvides() throws Exception {
    install("dev.polis.roles", ROLES).start();
    assertEquals(
        "dev.polis.roles waits for java.util.List, which no plugin provides:"
            + " no installed bundle provides java.util.List",
        await("roles", "service-missing").reason());
  }

  @Test
  @DisplayName("an organ's name comes from the manifest, not from the name of the bundle")
  void organsAreWhatManifestsSay() throws Exception {
    organs.put("org.example.plugin", "backup");
    install("org.example.plugin", DISK).start();
    install("dev.polis.nothing", DISK).start();
    assertEquals(
        List.of("backup"),
        health.all().peek().orElseThrow().stream().map(HealthStatus::name).toList());
  }

  @Test
  @DisplayName("a plugin without a report is known by its manifest, with its fault")
  void pluginsWithoutReports() throws Exception {
    install("dev.polis.storage", DISK).start();
    install("dev.polis.roles", ROLES).start();

    Map<String, PluginStatus> plugins =
        health.plugins().stream()
            .collect(Collectors.toMap(PluginStatus::symbolicName, each -> each));

    assertEquals(Set.of("dev.polis.storage", "dev.polis.roles"), plugins.keySet());
    assertEquals(List.of(), plugins.get("dev.polis.storage").conditions());
    assertEquals(
        "dev.polis.roles waits for java.util.List, which no plugin provides:"
            + " no installed bundle provides java.util.List",
        plugins.get("dev.polis.roles").conditions().getFirst().reason());
  }
}
