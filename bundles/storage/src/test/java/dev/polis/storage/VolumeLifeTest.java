package dev.polis.storage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.base.posix.Mounts;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.TestThreads;
import dev.polis.fixtures.power.RecordedDisk;
import dev.polis.logtree.Secret;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Mounts volumes of each security on this kernel, with the real programs. */
class VolumeLifeTest {

  private static final String WITNESS = "a witness that must not be found in the open";

  /** A volume of gocryptfs has the size of its files. */
  private static final long SMALL = 64L << 20;

  @TempDir Path directory;
  private final UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
  private VolumeBench bench;

  private void open(StorageSecurity security) throws FileException {
    VolumeBench.assumePossible(security);
    bench = new VolumeBench(directory, security);
  }

  @AfterEach
  void unmount() throws Exception {
    if (bench != null) {
      bench.volume.close();
      bench.close();
    }
  }

  private SealedConfiguration configuration(StorageSecurity security, UnlockKeys of) {
    return new SealedConfiguration(of.node(), Secret.of("join key"), Certificates.ca(), security);
  }

  private Path witness() {
    return bench.root.data().node().roles().path();
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName("STO-02 a file survives unmounting and mounting, twice")
  void sto02_witness(StorageSecurity security) throws Exception {
    open(security);
    bench.manager.mountNew(security, keys);
    assertInstanceOf(DataStatus.Mounted.class, bench.manager.status().peek().orElseThrow());
    assertEquals(
        security != StorageSecurity.INSECURE, Mounts.at(bench.root.data().path()).isPresent());
    bench.root.data().node().roles().write(WITNESS.getBytes(UTF_8));

    for (int round = 0; round < 2; round++) {
      bench.manager.close();
      assertTrue(Mounts.at(bench.root.data().path()).isEmpty(), "it is unmounted");
      if (security != StorageSecurity.INSECURE) {
        assertFalse(Files.exists(witness()), "nothing of it is seen while it is not mounted");
        assertFalse(Shell.contains(directory, WITNESS), "the witness is found in the backing");
      }
      bench.manager.mountExisting(configuration(security, keys), keys.cluster());
      assertArrayEquals(WITNESS.getBytes(UTF_8), Files.readAllBytes(witness()));
      Path key = VolumeKeyFile.place(VolumeCatalog.name(directory));
      assertFalse(Files.exists(key.getParent()), "the key's directory is left");
    }
  }

  @Test
  @DisplayName("a new volume of gocryptfs and its directories survive a loss of power")
  void powerLoss() throws Exception {
    StorageSecurity security = StorageSecurity.AUTHENTICATED_ENCRYPTED;
    VolumeBench.assumePossible(security);
    try (RecordedDisk disk = RecordedDisk.mount(SMALL, List.of())) {
      Path state = disk.point().resolve("state");
      bench = new VolumeBench(state, security);
      try {
        bench.manager.mountNew(security, keys);
        bench.root.data().node().roles().write(WITNESS.getBytes(UTF_8));
        unmount();
        disk.losePower(new Random());
        bench = new VolumeBench(state, security);
        bench.manager.mountExisting(configuration(security, keys), keys.cluster());
        assertArrayEquals(WITNESS.getBytes(UTF_8), Files.readAllBytes(witness()));
      } finally {
        unmount();
        bench = null;
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName("a reader beside a writer finds the former or the new content, never an empty file")
  void readWhileReplaced(StorageSecurity security) throws Exception {
    open(security);
    bench.manager.mountNew(security, keys);
    FilePlacement file = bench.root.data().node().roles();
    file.write(WITNESS.getBytes(UTF_8));
    try (ExecutorService executor = new TestThreads()) {
      Future<?> writer =
          executor.submit(
              () -> {
                for (int i = 0; i < 200; i++) {
                  file.write(WITNESS.getBytes(UTF_8));
                }
                return null;
              });
      while (!writer.isDone()) {
        assertArrayEquals(WITNESS.getBytes(UTF_8), file.read().orThrow());
        assertTrue(file.exists());
      }
      writer.get();
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "INSECURE")
  @Tag("attack")
  @DisplayName("STO-04 a wrong key gives a clear error, and the backing stays unchanged")
  void sto04_wrongKey(StorageSecurity security) throws Exception {
    open(security);
    bench.manager.mountNew(security, keys);
    bench.root.data().node().roles().write(WITNESS.getBytes(UTF_8));
    bench.manager.close();
    String before = Shell.digest(Path.of(bench.volume.backing()));

    UnlockKeys wrong = UnlockKeys.generate(new SecureRandom());
    FileException refusal =
        assertThrows(
            FileException.class,
            () -> bench.manager.mountExisting(configuration(security, keys), wrong.cluster()));
    assertEquals(Refusal.WRONG_KEY, ((StorageException) refusal).refusal(), refusal.getMessage());
    FileException occupied =
        assertThrows(FileException.class, () -> bench.manager.mountNew(security, wrong));
    assertEquals(Problem.OCCUPIED, occupied.problem(), occupied.getMessage());
    FileException short1 =
        assertThrows(
            FileException.class,
            () ->
                bench.manager.mountExisting(
                    configuration(security, keys), Secret.of(new byte[31])));
    assertEquals(Refusal.BAD_KEY, ((StorageException) short1).refusal(), short1.getMessage());

    assertEquals(before, Shell.digest(Path.of(bench.volume.backing())), "the backing was changed");
    assertInstanceOf(DataStatus.NotMounted.class, bench.manager.status().peek().orElseThrow());
    bench.manager.mountExisting(configuration(security, keys), keys.cluster());
    assertArrayEquals(
        WITNESS.getBytes(UTF_8),
        Files.readAllBytes(witness()),
        "D-24: a failed attempt blocks no later one");
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "INSECURE")
  @DisplayName("a disk that an operator has mounted in the place of the volume stays mounted")
  void foreignMount(StorageSecurity security) throws Exception {
    Needs.root("mounting another disk");
    open(security);
    bench.manager.mountNew(security, keys);
    bench.manager.close();
    Path data = bench.root.data().path();
    Mounts.mount("none", data, "tmpfs", List.of());
    try {
      FileException refusal =
          assertThrows(
              FileException.class,
              () -> bench.manager.mountExisting(configuration(security, keys), keys.cluster()));
      assertEquals(Problem.OCCUPIED, refusal.problem(), refusal.getMessage());
      assertEquals("tmpfs", Mounts.at(data).orElseThrow().type());
      bench.manager.close();
      assertEquals("tmpfs", Mounts.at(data).orElseThrow().type(), "after a power-off");
    } finally {
      if (Mounts.at(data).isPresent()) {
        Mounts.unmount(data);
      }
    }
    bench.manager.mountExisting(configuration(security, keys), keys.cluster());
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName("a new instance adopts the mounted volume with its server")
  void adopted(StorageSecurity security) throws Exception {
    open(security);
    bench.manager.mountNew(security, keys);
    bench.root.data().node().roles().write(WITNESS.getBytes(UTF_8));

    bench.close();
    try (VolumeBench next = new VolumeBench(directory, security)) {
      next.sealed.write(configuration(security, keys));
      next.manager.adopt();
      DataStatus.Mounted mounted =
          assertInstanceOf(DataStatus.Mounted.class, next.manager.status().peek().orElseThrow());
      assertEquals(security, mounted.security());
      assertArrayEquals(WITNESS.getBytes(UTF_8), Files.readAllBytes(witness()));

      next.sealed.write(configuration(security, UnlockKeys.generate(new SecureRandom())));
      next.manager.adopt();
      DataStatus.NotMounted refused =
          assertInstanceOf(DataStatus.NotMounted.class, next.manager.status().peek().orElseThrow());
      assertTrue(refused.reason().contains("another node"), refused.reason());
    }
    bench = new VolumeBench(directory, security);
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "INSECURE")
  @DisplayName("a volume whose server was killed is published as lost, and can be mounted again")
  void serverKilled(StorageSecurity security) throws Exception {
    open(security);
    bench.manager.mountNew(security, keys);
    bench.root.data().node().roles().write(WITNESS.getBytes(UTF_8));
    bench.kill(security == StorageSecurity.ENCRYPTED ? "volume-luks" : "volume-gocryptfs");

    bench.manager.check();
    assertInstanceOf(DataStatus.NotMounted.class, bench.manager.status().peek().orElseThrow());
    bench.manager.mountExisting(configuration(security, keys), keys.cluster());
    assertArrayEquals(WITNESS.getBytes(UTF_8), Files.readAllBytes(witness()));
  }

  @ParameterizedTest
  @EnumSource
  @Tag("attack")
  @DisplayName("D-09 a new volume is never made over an existing one, of any security")
  void d09_nothingIsMadeOver(StorageSecurity security) throws Exception {
    open(security);
    bench.manager.mountNew(security, keys);
    bench.root.data().node().roles().write(WITNESS.getBytes(UTF_8));
    bench.manager.close();
    String before = durable();
    for (StorageSecurity asked : StorageSecurity.values()) {
      FileException refusal =
          assertThrows(
              FileException.class,
              () -> bench.manager.mountNew(asked, UnlockKeys.generate(new SecureRandom())),
              "asked for " + asked);
      if (bench.canGive(asked)) {
        assertEquals(Problem.OCCUPIED, refusal.problem(), refusal.getMessage());
      }
    }
    assertEquals(before, durable(), "the state directory was changed");
  }

  /** Returns everything that outlives a reboot. */
  private String durable() throws Exception {
    String backing = Shell.digest(Path.of(bench.volume.backing()));
    return Shell.digest(bench.root.esp().path()) + backing + bench.root.data().list();
  }
}
