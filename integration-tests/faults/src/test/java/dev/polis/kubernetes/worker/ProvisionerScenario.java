package dev.polis.kubernetes.worker;

import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/** Makes the directories of two persistent volumes, into which programs of any user may write. */
final class ProvisionerScenario implements PowerScenario {

  private static final List<String> VOLUMES = List.of("pvc-1", "pvc-2");

  @Override
  public List<Step> steps() {
    return VOLUMES.stream()
        .<Step>map(name -> root -> VolumeProvisioner.makeDirectory(root.resolve(name)))
        .toList();
  }

  @Override
  public String observe(Path root) throws Exception {
    StringBuilder found = new StringBuilder();
    for (String name : VOLUMES) {
      Path volume = root.resolve(name);
      found.append(
          Files.exists(volume)
              ? PosixFilePermissions.toString(Files.getPosixFilePermissions(volume))
              : "none");
      found.append(' ');
    }
    return found.toString();
  }

  /** Allows a directory without its mode, which the next attempt at the claim sets. */
  @Override
  public boolean underWay(String observed) {
    return observed.contains("r-x ");
  }
}
