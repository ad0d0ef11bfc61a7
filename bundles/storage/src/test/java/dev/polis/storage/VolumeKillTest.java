package dev.polis.storage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.base.posix.Mounts;
import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import dev.polis.logtree.Secret;
import dev.polis.process.Commands;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Kills another JVM with kill -9 at each step of making a volume, in the shorter forms at some of
 * them; then this JVM continues.
 */
@Tag("longer")
class VolumeKillTest {

  private static final int KILLED = CrashAgent.KILLED;

  /**
   * The fewest steps are those of a plain directory: its marker, its identity, the end of the
   * marker.
   */
  private static final int LEAST_STEPS = 5;

  /**
   * The steps from one kill to the next with an encrypted volume, where a kill takes seconds; each
   * step of a plain directory is also one of an encrypted volume. The first of them moves from run
   * to run.
   */
  private static final int STRIDE = Tier.pick(4, 3, 1);

  @TempDir Path directory;
  private VolumeBench bench;

  /** The parts that make a new volume; a kill at the entry of each leaves another state behind. */
  private static final String[] STEPS = {
    FilePlacement.class.getName() + ".write",
    FilePlacement.class.getName() + ".delete",
    DirectoryPlacement.class.getName() + ".create",
    Commands.class.getName() + ".run",
    VolumeDaemonsManaged.class.getName() + ".start",
    VolumeDaemonsManaged.class.getName() + ".stop",
    VolumeKeyFile.class.getName() + ".write",
    VolumeKeyFile.class.getName() + ".wipe",
    VolumeTools.class.getName() + ".attach",
    VolumeTools.class.getName() + ".mountXfs"
  };

  /** Makes a volume; arguments: directory, security. */
  static final class Victim {
    private Victim() {}

    public static void main(String[] arguments) throws Exception {
      StorageSecurity security = StorageSecurity.valueOf(arguments[1]);
      VolumeBench bench = new VolumeBench(Path.of(arguments[0]), security);
      bench.manager.mountNew(security, keys());
      System.exit(0);
    }
  }

  private static UnlockKeys keys() {
    byte[] node = new byte[UnlockKeys.LENGTH];
    byte[] cluster = new byte[UnlockKeys.LENGTH];
    Arrays.fill(node, (byte) 0x5a);
    Arrays.fill(cluster, (byte) 0xa7);
    return new UnlockKeys(Secret.of(node), Secret.of(cluster));
  }

  @AfterEach
  void unmount() throws Exception {
    if (bench != null) {
      bench.volume.close();
      bench.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName(
      "D-09 after a kill at any step of making a volume, the next attempt with the same keys ends in the same state")
  void d09_killedAtEachStep(StorageSecurity security) throws Exception {
    VolumeBench.assumePossible(security);
    List<String> undisturbed = List.of();
    int stride = security == StorageSecurity.INSECURE ? 1 : STRIDE;
    int step = Slice.first(stride);
    System.out.printf("%s: kills from step %d on, in steps of %d%n", security, step, stride);
    for (int exit = KILLED; exit == KILLED; step += stride) {
      Path state = directory.resolve("step" + step);
      exit = victim(state, security, step);
      List<String> end = resume(state, security);
      if (!undisturbed.isEmpty()) {
        assertEquals(undisturbed, end, "after a kill at step " + step);
      }
      undisturbed = end;
    }
    assertTrue(step > LEAST_STEPS, "the volume was made in less than " + step + " steps");
  }

  private int victim(Path state, StorageSecurity security, int step) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                CrashAgent.whenEntered(step, STEPS),
                "-cp",
                System.getProperty("java.class.path") + File.pathSeparator + classPath(),
                Victim.class.getName(),
                state.toString(),
                security.name())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("victim.log").toFile())
            .start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the victim did not end within 60 s");
    int exit = process.exitValue();
    assertTrue(
        exit == 0 || exit == KILLED,
        "step %d: exit %d: %s"
            .formatted(step, exit, Files.readString(directory.resolve("victim.log"))));
    return exit;
  }

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", "");
  }

  /** Continues as the next start does, and returns the final content of the state directory. */
  private List<String> resume(Path state, StorageSecurity security) throws Exception {
    bench = new VolumeBench(state, security);
    bench.manager.adopt();
    bench.manager.mountNew(security, keys());
    assertInstanceOf(DataStatus.Mounted.class, bench.manager.status().peek().orElseThrow());
    bench.root.data().node().roles().write("witness".getBytes(UTF_8));
    bench.manager.mountNew(security, keys());
    bench.manager.close();
    bench.manager.mountExisting(
        new SealedConfiguration(keys().node(), Secret.of("join"), Certificates.ca(), security),
        keys().cluster());
    assertArrayEquals(
        "witness".getBytes(UTF_8), Files.readAllBytes(bench.root.data().node().roles().path()));
    assertFalse(bench.root.esp().volumeFormat().exists(), "the marker is still there");
    bench.volume.close();
    bench.close();
    bench = null;
    assertEquals(Optional.empty(), Mounts.at(Root.at(state).data().path()), "it is still mounted");
    Path key = VolumeKeyFile.place(VolumeCatalog.name(state));
    assertFalse(Files.exists(key.getParent()), "the key's directory is still there: " + key);
    return entries(state);
  }

  /** Returns everything on the disk except the records of processes and encrypted content. */
  private static List<String> entries(Path state) throws IOException {
    try (Stream<Path> files = Files.walk(state)) {
      return files
          .filter(file -> !file.startsWith(state.resolve("ephemeral/processes")))
          .filter(file -> !file.getParent().startsWith(state.resolve("volume.gocryptfs")))
          .map(file -> state.relativize(file).toString())
          .sorted()
          .toList();
    }
  }
}
