package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.power.ForceSwitch;
import dev.polis.fixtures.power.PowerScenario;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Opens the state of each release with the code of this build.
 *
 * <p>{@code released-VERSION.tar.gz} has the files after each step of each power loss scenario, and
 * the results of that release's readers. {@code -Dpolis.release.write=VERSION} writes one, for each
 * release; an existing one is never rewritten.
 */
class ReleaseStateTest {

  private static final Path ARCHIVES = Path.of("src/test/resources/dev/polis/faults/it");
  private static final String WRITTEN = System.getProperty("polis.release.write", "");
  private static final String FOUND = "found.txt";
  private static final String ETCD = "ETCD";

  /** Long, since unpacking writes etcd's reserved 128 MiB. */
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  /** Left out, since an ext4 image is not this project's format. */
  private static final Set<PowerScenarios> WRITERS =
      EnumSet.complementOf(EnumSet.of(PowerScenarios.CONTAINERS));

  @TempDir Path directory;

  @Test
  @DisplayName("this build reads the state of a release with the same results as that release")
  void stateOfEachReleaseIsRead() throws Exception {
    if (!WRITTEN.isEmpty()) {
      write(ARCHIVES.resolve("released-" + WRITTEN + ".tar.gz"));
    }
    try (Stream<Path> files = Files.list(ARCHIVES)) {
      List<Path> archives =
          files.filter(file -> file.getFileName().toString().startsWith("released-")).toList();
      assertTrue(!archives.isEmpty(), "there is no state of a release in " + ARCHIVES);
      for (Path archive : archives) {
        Path folder = Files.createDirectory(directory.resolve(archive.getFileName()));
        tar(
            "--preserve-permissions",
            "--extract",
            "--file=" + archive.toAbsolutePath(),
            "--directory=" + folder);
        List<String> then = Files.readAllLines(folder.resolve(FOUND));
        List<String> now = new ArrayList<>();
        for (String line : then) {
          String[] parts = line.split(" ", 3);
          now.add(line(folder, parts[0], Integer.parseInt(parts[1])));
        }
        assertEquals(withoutAbsent(then), withoutAbsent(now), archive.toString());
      }
    }
  }

  /**
   * Leaves out absent files, since a release's state lacks the additional files of a later build.
   */
  private static List<String> withoutAbsent(List<String> lines) {
    return lines.stream().map(line -> line.replaceAll("(?<=[ n])-\\\\n", "")).toList();
  }

  private static PowerScenario scenario(String name) throws ReflectiveOperationException {
    return name.equals(ETCD)
        ? new EtcdScenario()
        : PowerScenarios.valueOf(name).open(new ForceSwitch());
  }

  private static Path place(Path folder, String name, int step) {
    return folder.resolve(name).resolve(String.valueOf(step));
  }

  /** Returns the result of a reader, which has written nothing, after a step. */
  private static String line(Path folder, String name, int step) throws Exception {
    PowerScenario reader = scenario(name);
    Path root = place(folder, name, step);
    String found;
    try {
      found = reader.observe(root);
    } catch (Exception failed) {
      if (reader.refusals().stream().noneMatch(type -> type.isInstance(failed))) {
        throw new AssertionError("the state after step %d of %s".formatted(step, name), failed);
      }
      found = "refused: " + failed.getMessage();
    }
    String text = found.replace(root.toString(), "ROOT").replace("\n", "\\n");
    return "%s %d %s".formatted(name, step, text);
  }

  private void write(Path archive) throws Exception {
    assertTrue(Files.notExists(archive), archive + " is there: a release is written once");
    Path folder = Files.createDirectory(directory.resolve("written"));
    List<String> found = new ArrayList<>();
    for (PowerScenarios each : WRITERS) {
      List<PowerScenario.Step> steps = begin(folder, each.name());
      for (int step = 1; step <= steps.size(); step++) {
        Path root = place(folder, each.name(), step);
        run("cp", "-a", place(folder, each.name(), step - 1).toString(), root.toString());
        steps.get(step - 1).run(root);
        found.add(line(folder, each.name(), step));
      }
    }
    Path data = Files.createDirectories(place(folder, ETCD, 0));
    EtcdScenario etcd = new EtcdScenario();
    try {
      for (PowerScenario.Step step : etcd.steps()) {
        step.run(data);
      }
    } finally {
      etcd.powerOff();
    }
    found.add(line(folder, ETCD, 0));
    Files.write(folder.resolve(FOUND), found);
    Files.createDirectories(archive.getParent());
    tar(
        "--create",
        "--gzip",
        "--sparse",
        "--file=" + archive.toAbsolutePath(),
        "--directory=" + folder,
        ".");
  }

  private static List<PowerScenario.Step> begin(Path folder, String name) throws Exception {
    Path first = Files.createDirectories(place(folder, name, 0));
    PowerScenario scenario = scenario(name);
    for (String apart : scenario.apart()) {
      Files.createDirectories(first.resolve(apart));
    }
    return scenario.steps();
  }

  private static void tar(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("tar"));
    command.addAll(List.of(arguments));
    run(command.toArray(String[]::new));
  }

  private static void run(String... command) throws IOException, InterruptedException {
    Finished.of(List.of(command), Map.of(), PATIENCE).requireSuccess(String.join(" ", command));
  }
}
