package dev.polis.plugins;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginPacker;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.swap.SwapFixture;
import dev.polis.rpc.RpcPeer;
import dev.polis.rpc.RpcRole;
import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.ListResponse;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.StartRequest;
import dev.polis.wire.plugins.StartResponse;
import dev.polis.wire.plugins.StopRequest;
import dev.polis.wire.plugins.StopResponse;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.service.component.runtime.ServiceComponentRuntime;

/** Runs against a real framework, with bundles that only have a manifest. */
class PluginsServiceTest {
  @TempDir Path folder;
  private SwapFixture node;
  private NodeInventory inventory;
  private PluginsService service;

  @BeforeEach
  void start() throws Exception {
    node = SwapFixture.start(folder);
    install("dev.polis.storage", "1.0.0", List.of(new Provided.Organ("storage"))).start();
    install("dev.polis.rpc", "1.0.0", List.of()).start();
    inventory = new NodeInventory(node.store, node.engine, () -> TrustRoots.NONE, node.audit::add);
    service =
        new PluginsService(
            new BundleDirectory(node.context()),
            node.engine,
            inventory,
            new GraphCall(node.context(), node.service(ServiceComponentRuntime.class)));
  }

  @AfterEach
  void stop() throws Exception {
    service.close();
    inventory.close();
    node.close();
  }

  @Test
  @DisplayName("The list has every bundle with its state")
  void listHasAll() throws Exception {
    ListResponse response =
        call(observer -> service.list(ListRequest.getDefaultInstance(), observer));

    assertEquals(
        List.of(
            "org.apache.felix.framework",
            "org.apache.felix.configadmin",
            "org.apache.felix.scr",
            "dev.polis.above",
            "dev.polis.base",
            "dev.polis.storage",
            "dev.polis.rpc"),
        response.getPluginsList().stream().map(Plugin::getSymbolicName).toList());
    assertEquals(1, response.getGeneration());
    assertEquals(
        List.of("dev.polis.above", "dev.polis.base"),
        response.getPluginsList().stream()
            .filter(Plugin::getSwappable)
            .map(Plugin::getSymbolicName)
            .toList());
    assertTrue(
        response.getPluginsList().stream()
            .allMatch(plugin -> plugin.getState() == Plugin.State.STATE_ACTIVE),
        response.toString());
  }

  @Test
  @DisplayName("An organ stops and starts")
  void organStopsAndStarts() throws Exception {
    StopResponse stopped =
        call(observer -> service.stop(stopRequest("dev.polis.storage"), observer));
    assertEquals(Plugin.State.STATE_RESOLVED, stopped.getPlugin().getState());

    StartResponse started =
        call(
            observer ->
                service.start(
                    StartRequest.newBuilder().setSymbolicName("dev.polis.storage").build(),
                    observer));
    assertEquals(Plugin.State.STATE_ACTIVE, started.getPlugin().getState());
  }

  @Test
  @DisplayName("The platform is not stopped, and the refusal names the bundles that may be")
  void platformIsNotStopped() {
    for (String name : List.of("dev.polis.rpc", "org.apache.felix.framework")) {
      Status status = refused(stopRequest(name));

      assertEquals(Status.Code.FAILED_PRECONDITION, status.getCode());
      assertTrue(
          status.getDescription().startsWith(name + " belongs to the platform"), status.toString());
      assertTrue(
          status
              .getDescription()
              .endsWith("may be stopped: dev.polis.above, dev.polis.base, dev.polis.storage"),
          status.toString());
    }
  }

  @Test
  @DisplayName("An unknown and an empty name are refused with the reason")
  void unknownNames() {
    assertEquals(Status.Code.NOT_FOUND, refused(stopRequest("dev.polis.stroage")).getCode());
    assertEquals(Status.Code.INVALID_ARGUMENT, refused(stopRequest(" ")).getCode());
  }

  @Test
  @DisplayName("If two versions are installed, the request must name one")
  void twoVersions() throws Exception {
    install("dev.polis.storage", "2.0.0", List.of(new Provided.Organ("storage")));

    Status status = refused(stopRequest("dev.polis.storage"));

    assertEquals(Status.Code.INVALID_ARGUMENT, status.getCode());
    assertTrue(
        status.getDescription().contains("dev.polis.storage:1.0.0, dev.polis.storage:2.0.0"),
        status.toString());
    StopResponse stopped =
        call(observer -> service.stop(stopRequest("dev.polis.storage:1.0.0"), observer));
    assertEquals("1.0.0", stopped.getPlugin().getVersion());
  }

  @Test
  @DisplayName("An outside plugin is an organ by its manifest, with any name")
  void outsiderIsAnOrgan() throws Exception {
    install("org.example.backup", "1.0.0", List.of(new Provided.Role("NightlyBackup"))).start();

    StopResponse stopped =
        call(observer -> service.stop(stopRequest("org.example.backup"), observer));

    assertEquals(Plugin.State.STATE_RESOLVED, stopped.getPlugin().getState());
  }

  @Test
  @DisplayName(
      "A bundle with a name like ours but without a manifest is no organ, and the refusal says why")
  void nameIsNoManifest() throws Exception {
    Bundle bundle = install("dev.polis.cluster", "1.0.0", List.of(new Provided.Organ("cluster")));
    Path jar = folder.resolve("dev.polis.cluster-1.0.0.jar");
    Files.delete(ManifestEnvelope.beside(jar));
    String missing = refused(stopRequest("dev.polis.cluster")).getDescription();
    assertTrue(missing.startsWith("nothing says that dev.polis.cluster is an organ"), missing);
    assertTrue(missing.contains(ManifestEnvelope.beside(jar) + " is missing"), missing);
    assertTrue(missing.contains("polisctl node restart --runtime"), missing);
    assertFalse(missing.contains("plugin pack"), missing);

    Files.createFile(ManifestEnvelope.beside(jar));
    String damaged = refused(stopRequest("dev.polis.cluster")).getDescription();
    assertTrue(damaged.contains(ManifestEnvelope.beside(jar) + " is damaged"), damaged);
    assertFalse(damaged.contains("plugin pack"), damaged);

    Files.delete(ManifestEnvelope.beside(jar));
    Files.copy(
        ManifestEnvelope.beside(folder.resolve("dev.polis.storage-1.0.0.jar")),
        ManifestEnvelope.beside(jar));
    String other = refused(stopRequest("dev.polis.cluster")).getDescription();
    assertTrue(other.contains("is that of dev.polis.storage:1.0.0"), other);
    assertEquals("1.0.0", bundle.getVersion().toString());
  }

  private Bundle install(String name, String version, List<Provided> provides) throws Exception {
    Path jar = folder.resolve(name + "-" + version + ".jar");
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", name);
    headers.putValue("Bundle-Version", version);
    write(jar, manifest);
    PluginPacker.write(
        jar, DistributionManifest.of(PluginPacker.describe(jar, PackOptions.providing(provides))));
    return node.context().installBundle("reference:" + jar.toUri());
  }

  private static void write(Path jar, Manifest manifest) throws IOException {
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream archive = new JarOutputStream(out, manifest)) {
      archive.finish();
    }
  }

  private static StopRequest stopRequest(String name) {
    return StopRequest.newBuilder().setSymbolicName(name).build();
  }

  private Status refused(StopRequest request) {
    return assertThrows(
            StatusException.class,
            () ->
                PluginsServiceTest.<StopResponse>call(observer -> service.stop(request, observer)))
        .getStatus();
  }

  /** The service answers within the call. */
  private static <T> T call(Consumer<StreamObserver<T>> call) throws StatusException {
    List<T> answers = new ArrayList<>();
    List<StatusException> errors = new ArrayList<>();
    StreamObserver<T> observer =
        new StreamObserver<>() {
          @Override
          public void onNext(T value) {
            answers.add(value);
          }

          @Override
          public void onError(Throwable error) {
            errors.add((StatusException) error);
          }

          @Override
          public void onCompleted() {}
        };
    Context.current()
        .withValue(RpcPeer.KEY, new RpcPeer.User("owner", RpcRole.OWNER, "SHA256:test"))
        .run(() -> call.accept(observer));
    if (!errors.isEmpty()) {
      throw errors.getFirst();
    }
    assertEquals(1, answers.size());
    return answers.getFirst();
  }
}
