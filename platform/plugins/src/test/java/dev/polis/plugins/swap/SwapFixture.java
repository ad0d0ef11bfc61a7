package dev.polis.plugins.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.polis.base.values.Value;
import dev.polis.fixtures.Await;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogTree;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginPacker;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.plan.BundleManifest;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.swap.organs.EndlessMessage;
import dev.polis.plugins.swap.organs.TestOrgan;
import dev.polis.supervision.SupervisionTree;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Dictionary;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.apache.felix.framework.Felix;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.runtime.ServiceComponentRuntime;

/**
 * Runs a real framework with Declarative Services, configurations, a health table and a plugin
 * store, and two organs: {@code base}, and {@code above}, which needs the service of base.
 */
public final class SwapFixture {
  public static final Duration PATIENCE = Duration.ofSeconds(60);

  /** The time for which health must stay good, which each successful swap waits for twice. */
  public static final Duration GATE = Duration.ofMillis(250);

  /** The time in which an organ must stop; in a node it is 30 s. */
  static final Duration STOP = Duration.ofSeconds(4);

  /** The time for which Declarative Services wait for a hanging component; in a node it is 5 s. */
  private static final Duration LOCK = Duration.ofSeconds(1);

  /** Short, so that a test need not wait. */
  private static final Duration UNLOADED = Duration.ofSeconds(1);

  /** A limit that only a defect reaches, also on a busy machine. */
  public static final Duration LONG = Duration.ofSeconds(10);

  /** The organs that run at the beginning. */
  static final List<String> BEFORE = List.of("above 1.0.0", "base 1.0.0");

  private static final long MIB = 1024 * 1024;
  static final SwapSettings SETTINGS = settings(GATE, LONG, LONG);

  private final Path folder;
  private final Felix framework;
  private final SupervisionTree tree;
  private final HealthTable health;
  public final PluginStore store;
  public final Queue<String> audit = new ConcurrentLinkedQueue<>();
  public final List<SwapListener> listeners = new CopyOnWriteArrayList<>();
  public SwapEngine engine;

  /** A part of the path of bundles whose signer is no longer trusted. */
  volatile String untrusted = "no bundle";

  /** Makes the swapping threads. */
  volatile ThreadFactory threads = Thread.ofPlatform().name("swap-", 1).daemon().factory();

  /** Receives the name of each stage, on the swapping thread. */
  volatile Consumer<String> onStage = stage -> {};

  private SwapFixture(Path folder) throws Exception {
    this.folder = folder;
    Map<String, Object> settings = new HashMap<>();
    settings.put(Constants.FRAMEWORK_STORAGE, folder.resolve("cache").toString());
    settings.put(Constants.FRAMEWORK_STORAGE_CLEAN, Constants.FRAMEWORK_STORAGE_CLEAN_ONFIRSTINIT);
    settings.put(
        Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA,
        "org.osgi.service.cm;version=1.6.1,org.osgi.service.component;version=1.5.1,"
            + "org.osgi.service.component.runtime;version=1.5,"
            + "org.osgi.service.component.runtime.dto;version=1.5,org.osgi.util.promise;version=1.3.0,"
            + "org.osgi.util.function;version=1.2.0,dev.polis.health;version=1.0.0");
    settings.put(Constants.FRAMEWORK_BSNVERSION, Constants.FRAMEWORK_BSNVERSION_MULTIPLE);
    settings.put("felix.service.urlhandlers", "false");
    settings.put("felix.log.level", "0");
    settings.put("felix.cm.dir", folder.resolve("cm").toString());
    settings.put("ds.loglevel", "0");
    settings.put("ds.lock.timeout.milliseconds", LOCK.toMillis());
    settings.put(
        Constants.FRAMEWORK_SYSTEMCAPABILITIES_EXTRA,
        "polis.platform;version:Version=1.4.0,polis.organ;polis.organ=sea");
    framework = new Felix(settings);
    framework.start();
    for (Class<?> type :
        List.of(
            org.apache.felix.cm.PersistenceManager.class,
            org.apache.felix.scr.impl.Activator.class)) {
      String jar = type.getProtectionDomain().getCodeSource().getLocation().toURI().toString();
      context().installBundle("reference:" + jar).start();
    }
    tree = SupervisionTree.open(LogTree.create());
    health = HealthTable.open(tree);
    context().registerService(HealthRegistry.class, health, new Hashtable<>());
    store = PluginStore.open(folder.resolve("plugins"));
    engine = engine(SETTINGS);
  }

  /** Returns settings with other times, for successors that must exceed one of them. */
  public static SwapSettings settings(Duration healthy, Duration deadline, Duration start) {
    return new SwapSettings(
        healthy,
        deadline,
        start,
        STOP,
        UNLOADED,
        new ResourceLimits(32 * MIB, 32 * MIB, 16),
        Set.of("alone"));
  }

  /** Starts a node that runs version 1.0.0 of two organs. */
  public static SwapFixture start(Path folder) throws Exception {
    SwapFixture fixture = new SwapFixture(folder);
    fixture.install(fixture.base("1.0.0", "well"), fixture.above("1.0.0", "well"));
    return fixture;
  }

  /** Starts the node again with the current generation. */
  static SwapFixture resume(Path folder) throws Exception {
    SwapFixture fixture = new SwapFixture(folder);
    for (StoredPlugin plugin : fixture.store.current().orElseThrow().plugins()) {
      fixture
          .context()
          .installBundle("reference:" + fixture.store.verified(plugin).toUri())
          .start();
    }
    return fixture;
  }

  public SwapEngine engine(SwapSettings settings) {
    return engine(settings, ConfigurationSet.none().with("dev.polis.base", "port", "1"));
  }

  SwapEngine engine(SwapSettings settings, ConfigurationSet commandLine) {
    return new SwapEngine(
        new SwapParts(
            context(),
            store,
            (bundle, manifest) -> {
              if (bundle.toString().contains(untrusted)) {
                throw new SwapRefusedException("the key of " + bundle + " is not trusted");
              }
              return "vouched for by the test";
            },
            health,
            new PluginsHealth(health),
            service(ServiceComponentRuntime.class),
            service(ConfigurationAdmin.class),
            commandLine,
            () -> List.copyOf(listeners),
            () -> List.of("process etcd (17)"),
            audit::add),
        settings,
        work -> threads.newThread(work),
        stage -> onStage.accept(stage.name()));
  }

  /** Commits a bundle with configurations, and again what counts, so that a rollback swaps. */
  void prepareRollback(Path jar, ConfigurationSet configuration) throws Exception {
    Generation now = store.current().orElseThrow();
    StoredPlugin next = plugin(jar);
    store.put(next, jar);
    store.putManifest(next, manifest(jar));
    List<StoredPlugin> plugins = new ArrayList<>(now.plugins());
    plugins.replaceAll(each -> each.symbolicName().equals(next.symbolicName()) ? next : each);
    store.commit(now.origin(), plugins, configuration);
    store.commit(now.origin(), now.plugins(), now.configuration());
  }

  private void install(Path... jars) throws Exception {
    List<StoredPlugin> plugins = new ArrayList<>();
    for (Path jar : jars) {
      StoredPlugin plugin = plugin(jar);
      store.put(plugin, jar);
      store.putManifest(plugin, manifest(jar));
      plugins.add(plugin);
    }
    Digest origin = Digest.of("a distribution".getBytes(StandardCharsets.UTF_8));
    Generation generation = store.commit(origin, plugins);
    for (StoredPlugin plugin : generation.plugins()) {
      context().installBundle("reference:" + store.verified(plugin).toUri()).start();
    }
  }

  static StoredPlugin plugin(Path jar) throws Exception {
    var manifest = BundleManifest.read(jar);
    return new StoredPlugin(manifest.symbolicName(), manifest.version(), Digest.of(jar));
  }

  public BundleContext context() {
    return framework.getBundleContext();
  }

  public HealthTable health() {
    return health;
  }

  public <T> T service(Class<T> type) {
    ServiceReference<T> reference = context().getServiceReference(type);
    return context().getService(reference);
  }

  public Path base(String version, String behaviour) throws Exception {
    return organ("base", version, behaviour, "java.util.function.Supplier", "", "");
  }

  Path above(String version, String behaviour) throws Exception {
    return organ("above", version, behaviour, "", "java.util.function.Supplier", "");
  }

  /** Makes a bundle with one component. */
  public Path organ(
      String name, String version, String behaviour, String gives, String needs, String imports)
      throws Exception {
    return organ(name, version, behaviour, gives, needs, imports, "");
  }

  /** Makes the same with a requirement of the resolver's, in the notation of a manifest. */
  Path requiring(String name, String version, String requirement) throws Exception {
    return organ(name, version, "well", "", "", "", requirement);
  }

  private Path organ(
      String name,
      String version,
      String behaviour,
      String gives,
      String needs,
      String imports,
      String requirement)
      throws Exception {
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", "dev.polis." + name);
    headers.putValue("Bundle-Version", version);
    headers.putValue(
        "Import-Package",
        "org.osgi.framework,dev.polis.health" + (imports.isEmpty() ? "" : "," + imports));
    headers.putValue("Service-Component", "OSGI-INF/component.xml");
    boolean endless = behaviour.equals(EndlessMessage.BEHAVIOUR);
    if (endless) {
      headers.putValue("Bundle-Activator", EndlessMessage.class.getName());
    }
    if (!gives.isEmpty()) {
      headers.putValue(
          "Provide-Capability", "osgi.service;objectClass:List<String>=\"" + gives + "\"");
    }
    if (!needs.isEmpty()) {
      headers.putValue(
          "Require-Capability",
          "osgi.service;filter:=\"(objectClass=" + needs + ")\";effective:=active");
    }
    if (!requirement.isEmpty()) {
      headers.putValue("Require-Capability", requirement);
    }
    Path jar = folder.resolve("%s-%s-%s.jar".formatted(name, version, behaviour));
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream archive = new JarOutputStream(out)) {
      archive.putNextEntry(entry(JarFile.MANIFEST_NAME));
      manifest.write(archive);
      put(TestOrgan.class, archive);
      if (endless) {
        put(EndlessMessage.class, archive);
      }
      archive.putNextEntry(entry("OSGI-INF/component.xml"));
      archive.write(component(name, behaviour, gives, needs).getBytes(StandardCharsets.UTF_8));
      archive.putNextEntry(entry("OSGI-INF/metatype/" + name + ".xml"));
      archive.write(metatype(name, behaviour).getBytes(StandardCharsets.UTF_8));
    }
    return jar;
  }

  private static void put(Class<?> type, JarOutputStream archive) throws Exception {
    String path = type.getName().replace('.', '/') + ".class";
    archive.putNextEntry(entry(path));
    try (InputStream in = type.getClassLoader().getResourceAsStream(path)) {
      in.transferTo(archive);
    }
  }

  /** Makes an entry without the time of day: the same bundle made twice has one digest. */
  private static JarEntry entry(String name) {
    JarEntry entry = new JarEntry(name);
    entry.setTimeLocal(LocalDateTime.of(2020, 1, 1, 0, 0));
    return entry;
  }

  private static String component(String name, String behaviour, String gives, String needs) {
    String service =
        gives.isEmpty() ? "" : "<service><provide interface=\"" + gives + "\"/></service>";
    String reference =
        needs.isEmpty() ? "" : "<reference name=\"below\" interface=\"" + needs + "\"/>";
    return """
        <scr:component xmlns:scr="http://www.osgi.org/xmlns/scr/v1.4.0" name="%s" immediate="true"
            activate="activate" deactivate="deactivate" configuration-pid="dev.polis.%s">
          <implementation class="%s"/>
          <property name="behaviour" value="%s"/>
          %s%s
        </scr:component>"""
        .formatted(name, name, TestOrgan.class.getName(), behaviour, service, reference);
  }

  /** Returns the metatype, which has an additional key for the behaviour "wide". */
  private static String metatype(String name, String behaviour) {
    String depth =
        behaviour.startsWith("wide")
            ? "<AD id=\"depth\" type=\"Integer\" cardinality=\"0\" default=\"1\"/>"
            : "";
    return """
        <metatype:MetaData xmlns:metatype="http://www.osgi.org/xmlns/metatype/v1.4.0">
          <OCD id="dev.polis.%s" name="Organ">
            <AD id="port" type="Integer" cardinality="0" default="7" min="1" max="65535"/>
            %s
          </OCD>
          <Designate pid="dev.polis.%s"><Object ocdref="dev.polis.%s"/></Designate>
        </metatype:MetaData>"""
        .formatted(name, depth, name, name);
  }

  public static SwapOrder swap(Path jar) throws Exception {
    return new SwapOrder.Replace(jar, manifest(jar));
  }

  static byte[] manifest(Path jar) throws Exception {
    String name = BundleManifest.read(jar).symbolicName().replace("dev.polis.", "");
    PackOptions organ = PackOptions.providing(List.of(new Provided.Organ(name)));
    return DistributionManifest.of(PluginPacker.describe(jar, organ)).encode().toByteArray();
  }

  /** Orders a swap and waits for its end. */
  public SwapStatus run(SwapOrder order) throws Exception {
    return run(order, SwapOptions.by("the test"));
  }

  SwapStatus run(SwapOrder order, SwapOptions options) throws Exception {
    return ended(engine.begin(order, options));
  }

  static SwapStatus ended(Value<SwapStatus> swap) throws Exception {
    return Await.value(
        swap, status -> status.outcome().isPresent(), PATIENCE, "the end of the swap");
  }

  /** Returns the bundles of the two organs with their states: {@code base 1.0.0 32}. */
  List<String> organs() {
    return Arrays.stream(context().getBundles())
        .filter(bundle -> bundle.getSymbolicName().startsWith("dev.polis."))
        .map(
            bundle ->
                bundle.getSymbolicName().replace("dev.polis.", "")
                    + " "
                    + bundle.getVersion()
                    + (bundle.getState() == Bundle.ACTIVE ? "" : " state " + bundle.getState()))
        .sorted()
        .toList();
  }

  /** Returns the ports that the components of base have read, sorted. */
  List<String> ports() {
    ServiceComponentRuntime runtime = service(ServiceComponentRuntime.class);
    return runtime.getComponentDescriptionDTOs().stream()
        .filter(each -> each.name.equals("base"))
        .flatMap(each -> runtime.getComponentConfigurationDTOs(each).stream())
        .map(each -> String.valueOf(each.properties.get("port")))
        .sorted()
        .toList();
  }

  /** Returns the configuration of a PID. */
  Dictionary<String, Object> configuration(String pid) throws Exception {
    return service(ConfigurationAdmin.class).getConfiguration(pid, null).getProperties();
  }

  /** Returns the PIDs of all configurations. */
  List<String> configurations() throws Exception {
    Configuration[] found = service(ConfigurationAdmin.class).listConfigurations(null);
    return found == null ? List.of() : Arrays.stream(found).map(Configuration::getPid).toList();
  }

  /** Returns the version that provides the service of base. */
  String served() {
    ServiceReference<?> reference = context().getServiceReference(Supplier.class.getName());
    Object found = context().getService(reference);
    context().ungetService(reference);
    return ((Supplier<?>) found).get().toString();
  }

  /** Returns the versions of the current generation. */
  List<String> generation() throws Exception {
    return store.current().orElseThrow().plugins().stream()
        .map(plugin -> plugin.symbolicName().replace("dev.polis.", "") + " " + plugin.version())
        .toList();
  }

  /** Returns the digest of an organ of the current generation; each made jar has its own. */
  String digest(String organ) throws Exception {
    return store.current().orElseThrow().plugins().stream()
        .filter(plugin -> plugin.symbolicName().equals("dev.polis." + organ))
        .findFirst()
        .orElseThrow()
        .digest()
        .hex();
  }

  /** Returns the conditions about versions that do not end. */
  List<String> stuck() {
    return conditions("old-version-stuck");
  }

  /** Returns the conditions about versions whose objects stay in memory. */
  List<String> held() {
    return conditions("old-version-held");
  }

  private List<String> conditions(String code) {
    return health.all().peek().orElse(List.of()).stream()
        .filter(status -> status.name().equals("plugins"))
        .flatMap(status -> status.conditions().stream())
        .filter(condition -> condition.code().equals(code))
        .map(HealthCondition::reason)
        .toList();
  }

  /** Requires that a swap to a well version succeeds after the test's. */
  void requireNextWorks() throws Exception {
    onStage = stage -> {};
    SwapStatus next = run(swap(base("3.0.0", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(next), () -> words(next));
    assertEquals(List.of("above 1.0.0", "base 3.0.0"), organs());
    assertEquals("3.0.0", served());
  }

  /** Returns the first bundle with this name. */
  Bundle bundle(String symbolicName) {
    return Arrays.stream(context().getBundles())
        .filter(each -> symbolicName.equals(each.getSymbolicName()))
        .findFirst()
        .orElseThrow();
  }

  /** Cancels the next swap after a stage; returns the refusal, if any. */
  List<String> cancelAt(String stage) {
    List<String> refusals = new ArrayList<>();
    onStage =
        passed -> {
          if (passed.equals(stage)) {
            try {
              engine.cancel("bob");
            } catch (SwapRefusedException e) {
              refusals.add(e.getMessage());
            }
          }
        };
    return refusals;
  }

  /** Makes a file of the store impossible to replace, as on a full disk. */
  void block(String name) throws Exception {
    Files.createDirectories(folder.resolve("plugins").resolve(name).resolve("in-the-way"));
  }

  /** Stops the framework. */
  public void close() throws Exception {
    System.setProperty(TestOrgan.END_LOOPS, "true");
    engine.close();
    framework.stop();
    framework.waitForStop(0);
    health.close();
    tree.close();
    System.clearProperty(TestOrgan.END_LOOPS);
  }

  static SwapOrder configure(String name, String value) {
    return new SwapOrder.Configure(Map.of(name, Optional.of(value)));
  }

  static SwapOutcome outcome(SwapStatus end) {
    return end.outcome().orElseThrow();
  }

  static String words(SwapStatus end) {
    return outcome(end).name() + ": " + outcome(end).reason() + " after " + end.stages();
  }
}
