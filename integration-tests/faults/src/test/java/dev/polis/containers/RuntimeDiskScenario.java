package dev.polis.containers;

import dev.polis.files.layout.Root;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Makes the ext4 image of the containers' runtime, as for a volume that cannot carry overlays. */
final class RuntimeDiskScenario implements PowerScenario {

  /** The smallest allowed size; the image is sparse. */
  private static final long MEBIBYTES = 64;

  private static final ContainersSettings SETTINGS =
      new ContainersSettings("", new TreeMap<>(), "auto", MEBIBYTES, 0, Duration.ofMinutes(1));

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @Override
  public List<Step> steps() {
    return List.of(
        root -> files(root).create(),
        root -> new RuntimeDisk(SETTINGS, files(root)).prepare(false));
  }

  private static ContainersFiles files(Path root) {
    return new ContainersFiles(Root.at(root));
  }

  /** Reads the image, which must be whole under its name, since each later start mounts it. */
  @Override
  public String observe(Path root) throws Exception {
    Path image = files(root).image().path();
    if (Files.notExists(image)) {
      return "no image";
    }
    Finished checked =
        Finished.of(List.of("fsck.ext4", "-f", "-n", image.toString()), Map.of(), PATIENCE);
    return checked.code() == 0 ? "a whole image" : "damaged: " + checked.out();
  }
}
