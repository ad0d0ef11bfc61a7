package dev.polis.storage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.logtree.Secret;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * kill -9 at each step of making a volume, for real: another JVM is killed, then this one goes on.
 */
class VolumeKillTest {

  private static final int KILLED = 128 + 9;

  @TempDir Path directory;
  private VolumeBench bench;

  /**
   * Makes a volume and kills itself when it reaches the given step; arguments: directory, security,
   * step.
   */
  static final class Victim {
    private static int left;

    private Victim() {}

    private static void step() {
      if (left-- == 0) {
        try {
          new ProcessBuilder("kill", "-9", Long.toString(ProcessHandle.current().pid()))
              .start()
              .waitFor();
        } catch (IOException | InterruptedException e) {
          throw new AssertionError(e);
        }
      }
    }

    public static void main(String[] arguments) throws Exception {
      StorageSecurity security = StorageSecurity.valueOf(arguments[1]);
      left = Integer.parseInt(arguments[2]);
      Commands killing =
          new Commands() {
            @Override
            Result run(Duration within, List<String> command, byte[] input)
                throws IOException, InterruptedException {
              step();
              return super.run(within, command, input);
            }
          };
      VolumeBench bench = new VolumeBench(Path.of(arguments[0]), security, killing, step -> step());
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
      "D-09 killed at each step of making a volume, the next attempt with the same keys ends in the same place")
  void d09_killedAtEachStep(StorageSecurity security) throws Exception {
    VolumeBench.assumeRootFor(security);
    // The short form dies once in the middle; the long form at every step until there is none left.
    boolean all = Boolean.getBoolean("polis.long");
    for (int step = all ? 0 : 2; all || step == 2; step++) {
      Path state = directory.resolve("step" + step);
      int exit = victim(state, security, step);
      resume(state, security);
      if (exit == 0) {
        assertTrue(step > 3, "only " + step + " steps were seen");
        return;
      }
      assertEquals(KILLED, exit, "step " + step);
    }
  }

  private int victim(Path state, StorageSecurity security, int step) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path") + File.pathSeparator + classPath(),
                Victim.class.getName(),
                state.toString(),
                security.name(),
                Integer.toString(step))
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

  private void resume(Path state, StorageSecurity security) throws Exception {
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
    assertTrue(!bench.root.esp().volumeFormat().exists(), "the marker is gone");
    bench.volume.close();
    bench.close();
    bench = null;
  }
}
