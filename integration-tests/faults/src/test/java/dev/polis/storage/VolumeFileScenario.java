package dev.polis.storage;

import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Makes the empty file and the empty directory of a data volume. */
final class VolumeFileScenario implements PowerScenario {

  private static final long BYTES = 1 << 20;

  @Override
  public List<Step> steps() {
    return List.of(
        root -> VolumeTools.allocate(image(root), BYTES),
        root -> VolumeTools.allocateFolder(folder(root)));
  }

  private static Path image(Path root) {
    return root.resolve("volume.luks");
  }

  private static Path folder(Path root) {
    return root.resolve("volume.gocryptfs");
  }

  @Override
  public String observe(Path root) {
    return "image %s, folder %s".formatted(Files.exists(image(root)), Files.exists(folder(root)));
  }
}
