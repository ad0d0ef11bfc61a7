package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.base.boot.StopReason;
import dev.polis.base.posix.Mounts;
import dev.polis.base.values.Watcher;
import dev.polis.files.FileException;
import dev.polis.fixtures.SilentBoot;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Secret;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.supervision.SupervisionTree;
import java.lang.annotation.Annotation;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/** Runs the organ as the framework does, with a real gocryptfs volume, which needs no root. */
class StorageComponentTest {

  private static final StorageSecurity SECURITY = StorageSecurity.AUTHENTICATED_ENCRYPTED;

  @TempDir Path directory;
  private final LogTree logs = LogTree.create();
  private final SupervisionTree supervisor = SupervisionTree.open(logs);
  private final LocalRpcHost rpc =
      new LocalRpcHost(new RpcSettings(List.of(), RpcSettings.Limits.DEFAULT), logs);
  private StopReason reason = StopReason.PROCESS_RESTART;

  @AfterEach
  void close() {
    rpc.close();
    supervisor.close();
  }

  private record Configuration(
      String root, String security, int volume_mebibytes, String device, String tpm, String slots)
      implements StorageConfig {
    @Override
    public Class<? extends Annotation> annotationType() {
      return StorageConfig.class;
    }
  }

  private StorageComponent open(ProcessManager processes, String security) throws Exception {
    return open(processes, security, handOvers());
  }

  private StorageComponent open(ProcessManager processes, String security, HandOvers handOvers)
      throws Exception {
    if (security.equals(SECURITY.name())) {
      VolumeBench.assumePossible(SECURITY);
    }
    return new StorageComponent(
        registry(),
        new Configuration(directory.toString(), security, 512, "", "", ""),
        new SilentBoot(reason),
        logs,
        supervisor,
        HealthTable.open(supervisor),
        handOvers,
        processes,
        rpc,
        null);
  }

  /** Makes a service registry that forgets each service. */
  private static BundleContext registry() {
    return fake(BundleContext.class, fake(ServiceRegistration.class, null));
  }

  private static <T> T fake(Class<T> contract, Object answerOrNull) {
    return contract.cast(
        Proxy.newProxyInstance(
            StorageComponentTest.class.getClassLoader(),
            new Class<?>[] {contract},
            (_, _, _) -> answerOrNull));
  }

  private HandOvers handOvers() {
    return HandOverTable.open(logs, () -> reason, instance -> instance);
  }

  private ProcessManager.OpenManager processes() {
    return ProcessManager.open(directory.resolve("ephemeral/processes"), logs);
  }

  @Test
  @DisplayName("a swapped or restarted organ finds its volume mounted; switching off unmounts it")
  void adoptsAndPowersOff() throws Exception {
    UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
    try (var processes = processes()) {
      StorageComponent first = open(processes, SECURITY.name());
      assertEquals(SECURITY, first.preferred());
      first.mountNew(SECURITY, keys);
      first
          .sealedConfiguration()
          .write(
              new SealedConfiguration(keys.node(), Secret.of("join"), Certificates.ca(), SECURITY));
      first.deactivate();
    }
    try (var processes = processes()) {
      StorageComponent second = open(processes, SECURITY.name());
      assertInstanceOf(DataStatus.Mounted.class, second.data().peek().orElseThrow());
      reason = StopReason.POWER_OFF;
      second.deactivate();
      assertTrue(Mounts.at(second.root().data().path()).isEmpty(), "it is unmounted");
      assertTrue(processes.records().stream().noneMatch(r -> r.alive()), "its server has ended");
    }
  }

  @Test
  @DisplayName("a second instance keeps the volume of the first, gives it back, and takes it again")
  void handedOver() throws Exception {
    UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
    HandOvers handOvers = handOvers();
    try (var processes = processes()) {
      StorageComponent first = open(processes, SECURITY.name(), handOvers);
      first.mountNew(SECURITY, keys);
      SealedConfiguration sealed =
          new SealedConfiguration(keys.node(), Secret.of("join"), Certificates.ca(), SECURITY);
      first.sealedConfiguration().write(sealed);
      var mount = Mounts.at(first.root().data().path());
      List<Long> servers = processes.records().stream().map(record -> record.pid()).toList();

      StorageComponent second = open(processes, SECURITY.name(), handOvers);
      assertEquals(first.data().peek(), second.data().peek());
      String refusal =
          assertThrows(FileException.class, () -> first.mountExisting(sealed)).getMessage();
      assertTrue(refusal.contains("another instance of this organ manages"), refusal);
      second.mountExisting(sealed);

      second.deactivate();
      first.mountExisting(sealed);

      StorageComponent third = open(processes, SECURITY.name(), handOvers);
      first.deactivate();
      third.mountExisting(sealed);
      assertEquals(mount, Mounts.at(third.root().data().path()), "the mount has stayed");
      assertEquals(servers, processes.records().stream().map(record -> record.pid()).toList());
      reason = StopReason.POWER_OFF;
      third.deactivate();
      assertTrue(Mounts.at(third.root().data().path()).isEmpty(), "it is unmounted");
    }
  }

  @Test
  @DisplayName("of two instances that both end for good, the one that holds the volume unmounts it")
  void twoInstancesPoweredOff() throws Exception {
    HandOvers handOvers = handOvers();
    try (var processes = processes()) {
      StorageComponent first = open(processes, SECURITY.name(), handOvers);
      UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
      first.mountNew(SECURITY, keys);
      first
          .sealedConfiguration()
          .write(
              new SealedConfiguration(keys.node(), Secret.of("join"), Certificates.ca(), SECURITY));
      StorageComponent second = open(processes, SECURITY.name(), handOvers);
      reason = StopReason.POWER_OFF;
      first.deactivate();
      assertFalse(Mounts.at(second.root().data().path()).isEmpty(), "the second one keeps it");
      second.deactivate();
      assertTrue(Mounts.at(second.root().data().path()).isEmpty(), "it is unmounted");
    }
  }

  @Test
  @DisplayName("a volume whose server dies is published as lost")
  void lossIsPublished() throws Exception {
    try (var processes = processes()) {
      StorageComponent storage = open(processes, SECURITY.name());
      storage.mountNew(SECURITY, UnlockKeys.generate(new SecureRandom()));
      try (Watcher<DataStatus> watcher = storage.data().watch()) {
        assertInstanceOf(DataStatus.Mounted.class, watcher.get());
        ProcessHandle.of(processes.records().getFirst().pid()).orElseThrow().destroyForcibly();
        DataStatus lost =
            watcher.get(s -> s instanceof DataStatus.NotMounted, Duration.ofSeconds(20));
        assertTrue(lost.toString().contains("is lost"), lost.toString());
      }
      reason = StopReason.POWER_OFF;
      storage.deactivate();
      assertTrue(Mounts.at(storage.root().data().path()).isEmpty(), "it is unmounted");
    }
  }
}
