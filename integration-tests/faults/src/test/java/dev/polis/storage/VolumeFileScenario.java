package dev.polis.storage;

import dev.polis.fixtures.power.PowerScenario;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Makes the empty file and the empty directory of a data volume, and its file as gocryptfs does.
 */
final class VolumeFileScenario implements PowerScenario {

  private static final long BYTES = 1 << 20;

  @Override
  public List<Step> steps() {
    return List.of(
        root -> VolumeTools.allocate(image(root), BYTES),
        root -> VolumeTools.allocateFolder(folder(root)),
        root -> {
          Path written = Files.createFile(folder(root).resolve("gocryptfs.conf.tmp"));
          try (FileChannel file = FileChannel.open(written, StandardOpenOption.WRITE)) {
            file.force(true);
          }
          Files.move(written, configuration(root));
          VolumeGocryptfs.keepConfiguration(folder(root));
        });
  }

  private static Path image(Path root) {
    return root.resolve("volume.luks");
  }

  private static Path folder(Path root) {
    return root.resolve("volume.gocryptfs");
  }

  private static Path configuration(Path root) {
    return folder(root).resolve(VolumeGocryptfs.CONFIGURATION);
  }

  @Override
  public String observe(Path root) {
    return "image %s, folder %s%s"
        .formatted(
            Files.exists(image(root)),
            Files.exists(folder(root)),
            Files.exists(configuration(root)) ? ", configuration" : "");
  }
}
